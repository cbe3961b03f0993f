// The start of the program: our __libc_start_main, the decision how to run it, and its end.
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "base/modules.h"
#include "base/settings.h"
#include "base/standard_files.h"
#include "base/strings.h"
#include "privatize/image/images.h"
#include "privatize/image/packed_images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/output.h"
#include "privatize/libc/time_slices.h"
#include "privatize/load/guests.h"
#include "privatize/load/late_ranks.h"
#include "privatize/load/libraries.h"
#include "privatize/load/library_report.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/debug_table.h"

namespace fgmpi::privatize {

namespace {

using Init = void(int, char**, char**);
using StartMain = int(Main*, int, char**, Init*, void (*)(), void (*)(), void*);

int plain_process_main(Program& program);

/// The registered functions. These defaults serve a program without src/mpi: they only run its
/// ranks.
constinit Runtime g_runtime = {
    [] { return static_cast<uint32_t>(settings::number(settings::kNfg)); }, plain_process_main};

/// The number in a variable of the launcher's.
int64_t launcher_number(environment::Variable variable, int64_t fallback) {
  const char* text = environment::text(variable);
  return text ? parse_int(text).value_or(fallback) : fallback;
}

/// Reads "2x3,1x5": two processes of three ranks, then one of five. False: that is not said, or
/// contradicts what this process knows.
bool read_shares(uint64_t process, uint64_t processes, uint32_t ranks, PresumedRanks* out) {
  const char* text = environment::text(environment::kShares);
  if (!text) return false;
  uint64_t before = 0;
  bool found = false;
  out->first = out->total = 0;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view part = split_word(&left, ',');
    const size_t by = part.find('x');
    const auto count = parse_int(part.substr(0, by));
    const auto each = by == part.npos ? std::nullopt : parse_int(part.substr(by + 1));
    if (!count || !each || *count < 1 || *each < 1) return false;
    const auto these = static_cast<uint64_t>(*count), per = static_cast<uint64_t>(*each);
    if (process >= before && process - before < these) {
      if (per != ranks) return false;
      out->first = out->total + (process - before) * per;
      found = true;
    }
    before += these;
    out->total += these * per;
  }
  return found && before == processes;
}

int plain_process_main(Program& program) {
  Status created = sched::create_ranks(
      program.ranks, [](void*) { run_rank(sched::current()->index); }, nullptr);
  if (!created.ok()) {
    write_error_line(created.what());
    return 1;
  }
  return sched::run();
}

void prepare_switching();
void show_images();

/// The process's arguments, where it has several ranks. Never destroyed: ranks may begin until the
/// process ends.
std::vector<std::string>& g_arguments = *new std::vector<std::string>;

/// Bytes of the arguments and of the vector that leads to them.
size_t bytes_of_arguments() {
  size_t bytes = (g_arguments.size() + 1) * sizeof(char*);
  for (const std::string& word : g_arguments) bytes += word.size() + 1;
  return bytes;
}

[[noreturn]] void end_with_error(const std::string& line) {
  write_error_line(line);
  end_process(1);
}

void end_unless_ok(const Status& status) {
  if (!status.ok()) end_with_error(status.what());
}

int process_main(int argc, char** argv, char** envp) {
  g_program.argc = argc;
  g_program.argv = argv;
  g_program.envp = envp;
  if (g_program.ranks > 1 || rank_heaps_are_wanted()) g_arguments.assign(argv, argv + argc);
  // A process of one rank may get visitors, whose lines are theirs.
  redirect_rank_output(rank_slots_are_files() ? std::max(g_program.ranks, 2u) : g_program.ranks);
  prepare_switching();
  if (g_mode == ImageMode::kImages && g_program.ranks > 1) share_processors(g_program.ranks);
  g_images.record_copied_objects();
  if (rank_heaps_are_wanted())
    end_unless_ok(begin_rank_heaps(g_program.ranks, plan_slot_records(bytes_of_arguments())));
  if (rank_slots_are_files()) prepare_for_visitors();
  if (g_mode == ImageMode::kImages) show_images();
  int status = g_runtime.process_main(g_program);
  restore_streams();
  finish_output();
  return status;
}

/// True in the job's first process, which alone prints lines that are the same for the whole job.
bool is_first_process_of_job() {
  const char* rank = environment::text(environment::kPmiRank);
  if (!rank) rank = environment::text(environment::kPmixRank);
  return !rank || strcmp(rank, "0") == 0;
}

/// The values of FGMPI_PRIVATIZE, in the order of the table of settings.
enum class Privatize : uint8_t { kAuto, kOn, kOff };
static_assert(settings::has_choices(settings::kPrivatize, "auto|on|off"));

static_assert(settings::has_choices(settings::kImageMappings, "auto|protected|joined|copied"));

LibraryWishes library_wishes() {
  LibraryWishes wishes;
  end_unless_ok(parse_library_wishes(settings::text(settings::kPrivatizeLibs), &wishes));
  return wishes;
}

/// Warns, once a job, of libraries that use MPI, have variables, and are shared by the ranks of a
/// process because the user wants it: a library that has state from one MPI call to the next would
/// mix up its ranks.
void warn_of_shared_libraries(const std::vector<PrivateLibrary>& libraries) {
  const LibraryWishes wishes = library_wishes();
  if (wishes.automatic && g_mode != ImageMode::kShared) return;  // all of them are private
  const std::string list = shared_libraries_with_state(wishes, libraries);
  if (!list.empty())
    fprintf(stderr,
            "fgmpi: warning: the ranks of a process share the variables of %s; if it keeps state "
            "between MPI calls, %s\n",
            list.c_str(),
            g_mode == ImageMode::kShared ? "leave FGMPI_PRIVATIZE=auto"
                                         : "leave FGMPI_PRIVATIZE_LIBS=auto");
}

/// True where the program uses functions or objects of the runtimes whose state each image has, and
/// which ranks without images would share.
bool uses_runtime_state(const ElfModule& program) {
  for (const char* name :
       {"rand", "srand", "random", "srandom", "drand48", "lrand48", "mrand48", "srand48", "strtok",
        "initstate", "setstate", "getopt", "getopt_long", "getopt_long_only", "dlopen", "_ZSt3cin",
        "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"})
    if (program.imports(name)) return true;
  return false;
}

/// LLVM's OpenMP runtime ends a process in which it finds a second copy of itself, which elsewhere
/// is mostly linked in by mistake. Sets the variable by which the runtime accepts copies.
void allow_images_of(const PrivateLibrary& library) {
  const std::string_view path = library.map->l_name, file = path.substr(path.rfind('/') + 1);
  if ((file.starts_with("libomp.so") || file.starts_with("libiomp5.so")) &&
      !environment::text(environment::kKmpDuplicate))
    environment::set(environment::kKmpDuplicate, "TRUE");
}

Status read_modules(const std::vector<PrivateLibrary>& libraries) {
  std::vector<const link_map*> maps;
  for (const PrivateLibrary& l : libraries) {
    allow_images_of(l);
    maps.push_back(l.map);
  }
  return g_images.read_modules(maps);
}

/// True for a program in which FGmpiexec binds functions to ranks: its main runs once a process,
/// and its ranks share globals by default.
bool binds_functions() { return g_images.program().imports("FGmpiexec"); }

/// Chooses between shared globals and images, and the libraries of which each rank gets an image.
/// An error gives the reason why the wanted choice is impossible.
Status choose_mode(uint32_t ranks, ImageMode* mode, std::vector<PrivateLibrary>* libraries) {
  FGMPI_TRY(g_images.read_modules({}));  // also with one rank: crash reports need the program
  *mode = ranks == 1 ? ImageMode::kSingle : ImageMode::kShared;
  // A program that only loads MPI, such as an interpreter, stays as it is while it is alone.
  const bool in_slots = rank_heaps_are_wanted() && (ranks > 1 || is_linked_with_mpi());
  if (ranks == 1 && !in_slots) return Status();
  const auto wanted = settings::choice<Privatize>(settings::kPrivatize);
  if (wanted == Privatize::kOff) return Status();
  if (wanted == Privatize::kAuto && binds_functions()) return Status();
  const bool has_state = wanted == Privatize::kOn || g_images.program().has_private_data() ||
                         uses_runtime_state(g_images.program());
  FGMPI_TRY(choose_private_libraries(g_images.program(), library_wishes(), has_state, libraries));
  if (!has_state && libraries->empty()) return Status();
  FGMPI_TRY(read_modules(*libraries));
  Status possible = g_images.can_be_imaged();
  if (!possible.ok() && ranks == 1) return g_images.read_modules({});  // it needs no image
  FGMPI_TRY(std::move(possible));
  const auto place = !in_slots                ? Images::Place::kApart
                     : rank_slots_are_files() ? Images::Place::kSlotsInFile
                                              : Images::Place::kSlots;
  FGMPI_TRY(
      g_images.prepare(ranks, settings::choice<ImageLayout>(settings::kImageMappings), place));
  *mode = ImageMode::kImages;
  return Status();
}

/// Tells debuggers and tools where the images are.
void show_images() {
  const uint32_t first = g_images.in_slots() ? 0 : 1;
  fgmpi_debug_table.image_region = g_images.region_low();
  fgmpi_debug_table.image_stride = g_images.stride();
  fgmpi_debug_table.image_count = g_images.count();
  fgmpi_debug_table.program_base = g_images.program().base();
  fgmpi_debug_table.image_first = first;
  fgmpi_debug_table.image_bytes = g_images.image_bytes();
  for (size_t m = 0; m < g_images.modules().size(); ++m)
    sched::show_to_debugger(new sched::DebugImages{
        nullptr, m == 0 ? "" : g_images.modules()[m].path().c_str(), g_images.base_of(m, first),
        g_images.stride(), first, g_images.count() - first});
}

/// The C library gets this function in place of the program's constructors. Those run on the
/// proclet of each rank, image 0's too; only where ranks share globals does the C library run them.
void no_constructors(int, char**, char**) {}

/// The `init` argument of __libc_start_main, which only programs linked with glibc before
/// 2.34 pass.
Init* g_program_init = nullptr;

/// In mode kSingle, runs the constructors that the C library would have run before main. On the
/// rank's proclet they may call MPI, as coarray programs do.
void construct_program() {
  if (g_program_init) return g_program_init(g_program.argc, g_program.argv, g_program.envp);
  const link_map* program = program_module();
  uintptr_t init = 0;
  Init** array = nullptr;
  size_t bytes = 0;
  DynamicSection(program).for_each([&](const ElfW(Dyn) & entry) {
    // The dynamic linker does not relocate these addresses, in contrast to those of tables that it
    // uses itself.
    const uintptr_t address = program->l_addr + entry.d_un.d_ptr;
    if (entry.d_tag == DT_INIT) init = address;
    if (entry.d_tag == DT_INIT_ARRAY) array = reinterpret_cast<Init**>(address);
    if (entry.d_tag == DT_INIT_ARRAYSZ) bytes = entry.d_un.d_val;
  });
  if (init) reinterpret_cast<Init*>(init)(g_program.argc, g_program.argv, g_program.envp);
  for (size_t i = 0; i < bytes / sizeof(Init*); ++i)
    array[i](g_program.argc, g_program.argv, g_program.envp);
}

Image* g_rank_images = nullptr;  ///< one per rank; kImages only

void prepare_switching() {
  if (g_mode == ImageMode::kSingle) return;
  if (g_mode == ImageMode::kImages) {
    g_rank_images = new Image[g_program.ranks];
    add_areas_of_program();
    if (g_images.is_loaded(0)) init_areas(&g_rank_images[0]);
  }
  install_switch_hook(g_images.is_loaded(0) ? g_rank_images : nullptr);
}

/// The arguments of a rank: a copy of the process's, in one block. The original vector is rank 0's,
/// which may have changed it before other ranks begin, unless all of a rank's memory is in its
/// slot.
char** arguments_of(uint32_t index) {
  auto** copy = static_cast<char**>(place_of_arguments(index));
  if (index == 0 && !copy) return g_program.argv;
  if (!copy) copy = static_cast<char**>(std::malloc(bytes_of_arguments()));
  FGMPI_CHECK(copy);
  char* to = reinterpret_cast<char*>(copy + g_arguments.size() + 1);
  for (size_t i = 0; i < g_arguments.size(); ++i) {
    copy[i] = to;
    to = std::copy_n(g_arguments[i].c_str(), g_arguments[i].size() + 1, to);
  }
  copy[g_arguments.size()] = nullptr;
  return copy;
}

/// Makes the rank's image and loads its swapped areas. Runs on the host stack.
void enter_image(uint32_t k) {
  Image* image = &g_rank_images[k];
  image->index = k;
  if (!g_images.is_loaded(k)) {
    end_unless_ok(g_images.make(k));
    make_slot_record(image);
    init_areas(image);
  }
  image->argv = arguments_of(k);
  sched::current()->image = image;
  load_image(image);
  reset_getopt();
}

void construct(const Image& image) {
  const auto& modules = g_images.modules();
  auto run = [&](size_t m) {
    modules[m].run_constructors(g_images.base_of(m, image.index), g_program.argc, image.argv,
                                g_program.envp);
  };
  // The dynamic linker has run the constructors of the libraries that it has loaded. Its list has
  // dependencies last, so the loop goes backwards.
  if (!g_images.is_loaded(image.index))
    for (size_t m = modules.size(); m-- > 1;) run(m);
  run(0);
}

}  // namespace

PresumedRanks presumed_ranks(uint32_t of_this_process) {
  const auto process = static_cast<uint64_t>(
      launcher_number(environment::kPmiRank, launcher_number(environment::kPmixRank, 0)));
  const int64_t said =
      launcher_number(environment::kPmiSize, launcher_number(environment::kSlurmTasks, 1));
  const uint64_t processes =
      std::max(static_cast<uint64_t>(std::max<int64_t>(said, 1)), process + 1);
  PresumedRanks ranks{process * of_this_process, processes * of_this_process, process, processes};
  PresumedRanks shared = ranks;
  if (read_shares(process, processes, of_this_process, &shared)) return shared;
  if (settings::is_set(settings::kNfg) || !settings::is_set(settings::kRanks)) return ranks;
  const auto total = static_cast<uint64_t>(settings::number(settings::kRanks));
  ranks.first = process * (total / processes) + std::min(process, total % processes);
  ranks.total = total;
  return ranks;
}

void prepare_for_guests() {
  static bool prepared = false;
  if (std::exchange(prepared, true) || g_mode == ImageMode::kImages) return;
  static Image* plain = new Image;
  add_areas_of_program();
  init_areas(plain);
  install_switch_hook(plain);
  use_for_ranks_without_image(plain);
}

void set_runtime(const Runtime& runtime) {
  g_runtime = runtime;
  set_rank_exits(runtime.rank_exits, runtime.thread_ends_process);
}

int run_rank(uint32_t local_index) {
  if (local_index > 0 && !wait_to_begin()) _exit(0);
  if (g_mode != ImageMode::kImages) {
    begin_slot_record(local_index);
    if (local_index == 0) adopt_early_handlers(sched::current());
    if (sched::threads_enabled()) sched::EngineEntry::leave();
    if (g_mode == ImageMode::kSingle) construct_program();
    if (local_index > 0 && binds_functions() && g_runtime.run_bound_function) {
      g_runtime.run_bound_function();
      exit(0);
    }
    exit(g_main(g_program.argc, arguments_of(local_index), g_program.envp));
  }
  sched::call_on_host([&] { enter_image(local_index); });
  const Image& image = g_rank_images[local_index];
  if (sched::threads_enabled()) sched::EngineEntry::leave();
  construct(image);
  auto* main =
      reinterpret_cast<Main*>(g_images.move_to(reinterpret_cast<uintptr_t>(g_main), local_index));
  run_main(main, g_program.argc, image.argv, g_program.envp);
}

Image* image_of_rank(uint32_t index) {
  if (index >= g_program.ranks) return image_of_visitor(index);
  Image* image = &g_rank_images[index];
  image->index = index;
  return image;
}

bool ranks_have_globals() { return g_mode != ImageMode::kShared; }

/// Finds the number of ranks and chooses the mode of their globals; ends the process where that
/// is impossible.
static void prepare_program() {
  settings::load_or_end();
  g_program.ranks = g_runtime.ranks_of_this_process();
  const bool only_list = environment::text(environment::kListLibraries) != nullptr;
  if (only_list) g_program.ranks = std::max(g_program.ranks, 2u);
  std::vector<PrivateLibrary> libraries;
  const bool late = !only_list && g_program.ranks > 1 && !is_linked_with_mpi();
  const Status chosen = choose_mode(g_program.ranks, &g_mode, &libraries);
  if (!late) end_unless_ok(chosen);
  if (late && chosen.ok()) start_late();
  if (late && !chosen.ok()) {  // a program that never calls MPI must not fail for this
    refuse_late_ranks(chosen.what());
    g_mode = ImageMode::kSingle;
    g_program.ranks = 1;
    end_unless_ok(g_images.read_modules({}));
  }
  if (only_list) list_libraries(libraries);
  if (g_mode == ImageMode::kImages)
    for (const ElfModule& m : g_images.modules()) m.disown_destructors();
  if (g_program.ranks > 1 && !late && is_first_process_of_job()) {
    if (settings::on(settings::kVerbose)) report_private_libraries(libraries);
    warn_of_shared_libraries(libraries);
  }
  set_first_world_rank(static_cast<uint32_t>(presumed_ranks(g_program.ranks).first));
  install_crash_reports();
  if (g_mode == ImageMode::kImages) install_image_packing();
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int __libc_start_main(Main* main, int argc, char** argv, Init* init, void (*fini)(),
                                      void (*rtld_fini)(), void* stack_end) {
  if (on_proclet()) run_guest_main(main, argc, argv, init);
  auto* real = next_symbol<StartMain>("__libc_start_main");
  fgmpi::open_standard_files();
  g_main = main;
  become_scheduler_thread();
  prepare_program();
  if (g_mode == ImageMode::kImages) fini = nullptr;
  if (g_mode == ImageMode::kSingle) g_program_init = init;
  if (g_mode != ImageMode::kShared) init = no_constructors;
  return real(process_main, argc, argv, init, fini, rtld_fini, stack_end);
}
