#include "tools/report/run.h"
namespace fgmpi::report {
std::string to_html(const Run& run) { return "<pre>" + to_text(run) + "</pre>"; }
}  // namespace fgmpi::report
