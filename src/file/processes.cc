// Messages between the processes of a collective file operation.

#include "file/processes.h"

namespace fgmpi::file {
namespace {
/// So many processes exchange directly: one message after the other costs half as much as through
/// the first process.
constexpr uint32_t kFew = 8;
}  // namespace

Processes::Processes(comm::SharedComm* shared, const comm::Meeting* meeting)
    : ctx_(shared->id.plane(comm::kPlaneInternal)),
      tag_(static_cast<int32_t>(meeting->sequence & 0x3fffffffu)),
      call_(meeting->call) {
  if (shared->processes == 1) return;
  const comm::Hierarchy& h = comm::hierarchy(shared);
  list_ = &h.processes;
  count_ = h.count();
  me_ = h.my_index;
}

Status Processes::send(uint32_t to, const void* data, size_t bytes) const {
  return pt2pt::process_send(process(to), ctx_, tag_, data, bytes, call_);
}
Status Processes::recv(uint32_t from, Channel channel, Bytes* data) const {
  return pt2pt::process_recv(process(from), ctx_, tag_ | channel, data, call_);
}
Status Processes::recv(uint32_t from, void* data, size_t bytes) const {
  return pt2pt::process_recv(process(from), ctx_, tag_, data, bytes, call_);
}
Status Processes::isend(uint32_t to, Channel channel, const void* data, size_t bytes,
                        pt2pt::Request** request) const {
  return pt2pt::process_isend(process(to), ctx_, tag_ | channel, data, bytes, call_, request);
}
Status Processes::irecv(uint32_t from, void* data, size_t bytes, pt2pt::Request** request) const {
  return pt2pt::process_irecv(process(from), ctx_, tag_, data, bytes, call_, request);
}

Status Processes::finish(std::vector<pt2pt::Request*>* requests) const {
  Status first;
  pt2pt::wait_all(requests->data(), requests->size(), call_);
  for (pt2pt::Request* request : *requests) {
    Status one = pt2pt::process_outcome(request);
    if (first.ok() && !one.ok()) first = std::move(one);
    pt2pt::free_request(request);
  }
  requests->clear();
  return first;
}

Status Processes::exchange_all(const Bytes& mine, std::vector<Bytes>* all) const {
  std::vector<pt2pt::Request*> sends;
  Status status;
  for (uint32_t i = 0; i < count_ && status.ok(); ++i) {
    if (i == me_) continue;
    pt2pt::Request* request = nullptr;
    status = isend(i, kData, mine.data(), mine.size(), &request);
    if (request) sends.push_back(request);
  }
  for (uint32_t i = 0; i < count_ && status.ok(); ++i)
    if (i != me_) status = recv(i, kData, &(*all)[i]);
  Status sent = finish(&sends);
  return status.ok() ? std::move(sent) : std::move(status);
}

Status Processes::gather_all(const Bytes& mine, std::vector<Bytes>* all) const {
  all->assign(count_, {});
  (*all)[me_] = mine;
  if (count_ == 1) return {};
  if (count_ <= kFew) return exchange_all(mine, all);
  Bytes packed;
  if (me_ != 0) {
    FGMPI_TRY(send(0, mine.data(), mine.size()));
    FGMPI_TRY(recv(0, kData, &packed));
    FieldReader in(packed.data(), packed.size());
    for (Bytes& one : *all) {
      const std::string_view text = in.get_text();
      one.assign(text.begin(), text.end());
    }
    if (in.failed())
      return error(MPI_ERR_INTERN, "what the processes say of the file cannot be read");
    return {};
  }
  for (uint32_t i = 1; i < count_; ++i) FGMPI_TRY(recv(i, kData, &(*all)[i]));
  for (const Bytes& one : *all)
    append_text(&packed, std::string_view(reinterpret_cast<const char*>(one.data()), one.size()));
  std::vector<pt2pt::Request*> sends;
  Status status;
  for (uint32_t i = 1; i < count_ && status.ok(); ++i) {
    pt2pt::Request* request = nullptr;
    status = isend(i, kData, packed.data(), packed.size(), &request);
    if (request) sends.push_back(request);
  }
  Status sent = finish(&sends);
  return status.ok() ? std::move(sent) : std::move(status);
}

Status Processes::agree(Status mine) const {
  if (count_ == 1) return mine;
  Bytes bytes;
  std::vector<Bytes> all;
  write_status(mine, &bytes);
  FGMPI_TRY(gather_all(bytes, &all));
  for (const Bytes& one : all) {
    FieldReader in(one.data(), one.size());
    FGMPI_TRY(read_status(&in));
  }
  return {};
}

void write_status(const Status& status, Bytes* out) {
  append(out, status.error_class());
  if (!status.ok()) append_text(out, status.what());
}

Status read_status(FieldReader* in) {
  const int error_class = in->get<int>();
  if (in->failed()) return error(MPI_ERR_INTERN, "what a process says of the file cannot be read");
  if (error_class == MPI_SUCCESS) return {};
  return Status(error_class, std::string(in->get_text()));
}

}  // namespace fgmpi::file
