// The walk over an access's elements and its view at once, piece by piece.

#include "file/walk.h"

#include <algorithm>
#include <new>

#include "base/count_words.h"

namespace fgmpi::file {
namespace {

/// The address `offset` bytes behind `base`, which is null where datatypes hold absolute addresses
/// (MPI_BOTTOM).
char* moved(char* base, int64_t offset) {
  return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(base) + offset);
}

}  // namespace

Status Walk::bytes_in_file(const View& view, const pt2pt::Buffer& buffer, int64_t* bytes) {
  Placed placed;
  FGMPI_TRY(place(*view.datarep, buffer.type, &placed));
  if (!__builtin_mul_overflow(buffer.count, placed.bytes, bytes)) return {};
  return error(MPI_ERR_COUNT, "count is %lld, of a datatype of %lld bytes; allowed is at most %lld",
               static_cast<long long>(buffer.count), static_cast<long long>(placed.bytes),
               static_cast<long long>(INT64_MAX / placed.bytes));
}

Status Walk::prepare(ViewPtr view, const pt2pt::Buffer& buffer, bool write) {
  view_ = std::move(view);
  buffer_ = buffer;
  write_ = write;
  FGMPI_TRY(place(*view_->datarep, buffer.type, &placed_));
  total_ = buffer.count * placed_.bytes;
  if (total_ == 0 || !view_->datarep->converts()) return {};
  // A failed allocation is no exception here: other members of a collective operation wait for this
  // one.
  converted_.reset(new (std::nothrow) char[static_cast<size_t>(total_)]);
  if (!converted_)
    return error(MPI_ERR_NO_MEM, "no memory is left to convert %s",
                 count_words(static_cast<uint64_t>(total_), "byte").c_str());
  return write ? to_file(*view_->datarep, placed_, buffer_, converted_.get()) : Status();
}

Status Walk::begin(int64_t position) {
  start_ = position;
  left_ = total_;
  if (total_ == 0) return {};
  int64_t last, elements;
  if (__builtin_add_overflow(position, total_ - 1, &last) ||
      __builtin_mul_overflow(last / view_->tree->size + 1, view_->tree->extent, &elements) ||
      __builtin_add_overflow(elements, view_->disp, &elements))
    return error(
        MPI_ERR_ARG,
        "an access of %s at byte %lld of the view reaches beyond the largest offset of a file",
        count_words(static_cast<uint64_t>(total_), "byte").c_str(),
        static_cast<long long>(position));
  low_ = view_->offset_of(position);
  high_ = view_->offset_of(last) + 1;
  const datatype::TypeTree& tree = *view_->tree;
  // One filetype may ascend where it overlaps the next.
  ascends_ =
      view_->ascends || (tree.root.node->ascends && position / tree.size == last / tree.size);
  if (!ascends_) {  // somewhere in the filetypes from the first to the last
    low_ = view_->disp + tree.low() + position / tree.size * tree.extent;
    high_ = view_->disp + tree.high() + last / tree.size * tree.extent;
  }
  if (!view_->contiguous()) {
    in_file_.emplace(*view_->tree);
    in_file_->seek(position);
  }
  base_ = converted_ ? converted_.get() : static_cast<char*>(buffer_.address);
  if (converted_) return {};
  memory_ = buffer_.type.shared_tree();
  if (memory_->contiguous()) {
    base_ = moved(base_, memory_->low());
    memory_ = nullptr;
  } else {
    in_memory_.emplace(*memory_);
  }
  return {};
}

int64_t Walk::next_offset() const {
  if (in_file_) return view_->disp + in_file_->peek().offset;
  return low_ + (total_ - left_);
}

void Walk::next_pieces(int64_t limit, size_t most, int64_t bytes, std::vector<FilePiece>* out) {
  while (left_ > 0 && most > 0 && bytes > 0) {
    const int64_t offset = next_offset();
    if (offset >= limit) return;
    int64_t n = std::min(left_, limit - offset);
    if (in_file_) n = std::min(n, in_file_->peek().bytes);
    char* memory = moved(base_, total_ - left_);
    if (in_memory_) {
      const datatype::TypeRun run = in_memory_->next(n);
      memory = moved(base_, run.offset);
      n = run.bytes;
    }
    if (in_file_) in_file_->next(n);
    out->push_back({offset, memory, n});
    left_ -= n;
    bytes -= n;
    --most;
  }
}

int64_t Walk::bytes_before(int64_t offset) const {
  if (total_ == 0 || offset >= high_) return total_;
  if (offset <= low_ || !view_) return 0;
  if (!view_->ascends) {
    datatype::TypeCursor at(*view_->tree);
    at.seek(start_);
    int64_t before = 0;
    while (before < total_) {
      const datatype::TypeRun run = at.peek();
      const int64_t inside = std::clamp<int64_t>(offset - view_->disp - run.offset, 0, run.bytes);
      before += inside;
      if (inside < run.bytes) break;
      at.next(run.bytes);
    }
    return std::min(before, total_);
  }
  return std::clamp<int64_t>(view_->data_before(offset) - start_, 0, total_);
}

bool Walk::finish_calls_program() const {
  return converted_ && !write_ && view_->datarep->kind == Datarep::kRegistered;
}

Status Walk::finish(int64_t bytes, int64_t* memory) const {
  *memory = bytes;
  if (!converted_) return {};
  *memory = whole_items(placed_, bytes).memory;
  return write_ ? Status() : from_file(*view_->datarep, placed_, converted_.get(), bytes, buffer_);
}

}  // namespace fgmpi::file
