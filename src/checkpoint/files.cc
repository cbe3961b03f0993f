// Files: what the layer remembers of them, and how they are closed and opened again.
//
// MPI never has the access mode MPI_MODE_DELETE_ON_CLOSE, since files are closed at a checkpoint:
// the layer deletes the file when the program closes it.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/moves.h"
#include "checkpoint/stop.h"
#include "checkpoint/windows_files.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {

// ---- Handles

MPI_File real_file(const LayerRank& rank, MPI_File file) {
  return file_of_number(real_of(rank, Object::kFile, number_of(file)));
}

MPI_File virtual_file(const LayerRank& rank, MPI_File real) {
  return file_of_number(virtual_of(rank, Object::kFile, number_of(real)));
}

VirtualFile* find_file(const LayerRank& rank, MPI_File file) {
  return rank.files.find(number_of(file));
}

void count_file_collective(LayerRank& rank, MPI_File file) {
  if (VirtualFile* found = find_file(rank, file)) ++found->collectives;
}

void keep_hints(LayerRank& rank, VirtualFile* file, MPI_Info info) {
  if (!file || info == MPI_INFO_NULL) return;
  for (auto& [key, value] : contents_of(real_of(rank, Object::kInfo, info))) {
    auto known = std::find_if(file->hints.begin(), file->hints.end(),
                              [&](const auto& hint) { return hint.first == key; });
    if (known == file->hints.end())
      file->hints.emplace_back(key, value);
    else
      known->second = value;
  }
}

namespace {

// ---- Opening and closing by the program

/// The file's place in the file system. Names may begin with the kind of the file system ("nfs:").
std::string absolute_path_of(const char* name) {
  const char* colon = std::strchr(name, ':');
  for (const char* each : {name, colon ? colon + 1 : nullptr}) {
    char* const path = each ? realpath(each, nullptr) : nullptr;
    if (!path) continue;
    const std::string found = path;
    free(path);
    return found;
  }
  return name;
}

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* fh) {
  LayerRank* rank = current_rank();
  if (!rank || !fh) return g_next.MPI_File_open(comm, name, amode, info, fh);
  stop_point(*rank, "MPI_File_open", {NextCollective::Begins::kBlocking, comm});
  count_collective(*rank, comm, true);
  before_collective(*rank, comm);
  const MPI_Comm real = real_of(*rank, Object::kComm, comm);
  const int code = g_next.MPI_File_open(real, name, amode & ~MPI_MODE_DELETE_ON_CLOSE,
                                        real_of(*rank, Object::kInfo, info), fh);
  if (code != MPI_SUCCESS) return code;
  VirtualFile* made = nullptr;
  const int handle = rank->files.add(&made);
  made->real = number_of(*fh);
  made->key = key_of_latest(*rank, comm);
  made->path = absolute_path_of(name);
  made->amode = amode;
  g_home.MPI_Comm_rank(real, &made->rank);
  g_home.MPI_Comm_size(real, &made->size);
  keep_hints(*rank, made, info);
  *fh = file_of_number(handle);
  return code;
}

/// The first member deletes the file, when all members have no access to it under way any more.
int delete_on_close(const VirtualFile& file) {
  int atomic = 0;
  g_next.MPI_File_get_atomicity(file_of_number(file.real), &atomic);
  g_next.MPI_File_set_atomicity(file_of_number(file.real), atomic);  // all members come here
  if (file.rank != 0 || unlink(file.path.c_str()) == 0 || errno == ENOENT) return MPI_SUCCESS;
  return g_next.MPI_File_delete(file.path.c_str(), MPI_INFO_NULL);  // tells why not
}

int close_file(MPI_File* fh) {
  LayerRank* rank = current_rank();
  VirtualFile* file = rank && fh ? find_file(*rank, *fh) : nullptr;
  if (!file) return g_next.MPI_File_close(fh);
  stop_point(*rank, "MPI_File_close");
  int deleted = MPI_SUCCESS;
  if (file->amode & MPI_MODE_DELETE_ON_CLOSE && !file->split) deleted = delete_on_close(*file);
  MPI_File real = file_of_number(file->real);
  const int code = g_next.MPI_File_close(&real);
  if (real != MPI_FILE_NULL) return code;
  rank->files.remove(number_of(*fh));
  *fh = MPI_FILE_NULL;
  return code != MPI_SUCCESS ? code : deleted;
}

int amode_of(MPI_File fh, int* amode) {
  LayerRank* rank = current_rank();
  const VirtualFile* file = rank && amode ? find_file(*rank, fh) : nullptr;
  if (!file) return g_next.MPI_File_get_amode(rank ? real_file(*rank, fh) : fh, amode);
  *amode = file->amode;
  return MPI_SUCCESS;
}

// ---- Data representations of the program

/// Converts data by a function of the program's, which the rank calls. `extra`: a
/// RegisteredRepresentation.
template <class Function, bool reads, class Count>
int convert(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position,
            void* extra) {
  const auto& r = *static_cast<const RegisteredRepresentation*>(extra);
  int code = MPI_SUCCESS;
  by_rank([&] {
    auto* const function = reinterpret_cast<Function*>(reads ? r.read : r.write);
    code = function(user, type, count, file, position, r.extra);
  });
  return code;
}

int find_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  const auto& r = *static_cast<const RegisteredRepresentation*>(extra);
  int code = MPI_SUCCESS;
  by_rank([&] {
    code = reinterpret_cast<MPI_Datarep_extent_function*>(r.extent)(type, extent, r.extra);
  });
  return code;
}

/// Where ranks have deputies, MPI gets functions that have the rank call the program's, and a copy
/// of the record, for as long as the rank lives.
template <class Function, class Count, class Register>
int register_by(Register next, const RegisteredRepresentation& r) {
  if (!g_deputies)
    return next(r.name.c_str(), reinterpret_cast<Function*>(r.read),
                reinterpret_cast<Function*>(r.write),
                reinterpret_cast<MPI_Datarep_extent_function*>(r.extent), r.extra);
  Function* const read = convert<Function, true, Count>;
  Function* const write = convert<Function, false, Count>;
  auto kept = std::make_unique<RegisteredRepresentation>(r);
  const int code = next(r.name.c_str(), r.read ? read : nullptr, r.write ? write : nullptr,
                        r.extent ? find_extent : nullptr, kept.get());
  if (code == MPI_SUCCESS) kept.release();
  return code;
}

int register_again(const RegisteredRepresentation& r) {
  return r.large
             ? register_by<MPI_Datarep_conversion_function_c, MPI_Count>(
                   g_next.MPI_Register_datarep_c, r)
             : register_by<MPI_Datarep_conversion_function, int>(g_next.MPI_Register_datarep, r);
}

template <class Register, class Function>
int register_representation(Register next, const char* name, Function* read, Function* write,
                            MPI_Datarep_extent_function* extent, void* extra, bool large) {
  LayerRank* rank = current_rank();
  if (!rank || !name) return next(name, read, write, extent, extra);
  go_home_for_objects();
  const RegisteredRepresentation made = {name,
                                         reinterpret_cast<void*>(read),
                                         reinterpret_cast<void*>(write),
                                         reinterpret_cast<void*>(extent),
                                         extra,
                                         large};
  const int code = register_again(made);
  if (code == MPI_SUCCESS) rank->representations.push_back(made);
  return code;
}

}  // namespace

// ---- Checkpoints

std::string reason_of_files(const LayerRank& rank) {
  std::string reason;
  rank.files.for_each([&](int, const VirtualFile* file) {
    struct stat about = {};
    if (file->split) reason = std::string(file->split) + " of " + file->path + " is under way";
    if (file->amode & MPI_MODE_SEQUENTIAL)
      reason = "it has opened " + file->path + " with MPI_MODE_SEQUENTIAL";
    if (file->rank != 0) return;
    if (stat(file->path.c_str(), &about) != 0)
      reason = "it has a file open that cannot be opened again: " + file->path + ": " +
               std::strerror(errno);
    else if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode))
      reason = "it has opened " + file->path + ", which is a pipe or a device";
  });
  return reason;
}

namespace {

void describe_file(LayerRank& rank, VirtualFile* file) {
  const MPI_File real = file_of_number(file->real);
  file->described = std::make_unique<FileDescription>();
  FileDescription* d = file->described.get();
  MPI_Group group = MPI_GROUP_NULL;
  g_next.MPI_File_get_group(real, &group);
  d->members = members_of(rank, group);
  g_next.MPI_Group_free(&group);
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  g_next.MPI_File_get_errhandler(real, &handler);
  d->errhandler = virtual_of(rank, Object::kErrhandler, handler);
  g_next.MPI_Errhandler_free(&handler);
  g_next.MPI_File_set_errhandler(real, MPI_ERRORS_RETURN);
  MPI_Datatype etype = MPI_BYTE, filetype = MPI_BYTE;
  char representation[MPI_MAX_DATAREP_STRING + 1] = {};
  g_next.MPI_File_get_view(real, &d->displacement, &etype, &filetype, representation);
  d->etype = constructor_of(etype);
  d->filetype = constructor_of(filetype);
  d->representation = representation;
  give_back_type(&etype);
  give_back_type(&filetype);
  g_next.MPI_File_get_position(real, &d->pointer);
  g_next.MPI_File_get_position_shared(real, &d->shared_pointer);
  g_next.MPI_File_get_atomicity(real, &d->atomic);
  g_next.MPI_File_sync(real);
  g_next.MPI_File_get_size(real, &d->bytes);
}

void remake_view(const FileDescription& d, MPI_File real, MPI_Info info) {
  MPI_Datatype etype = type_of(d.etype), filetype = type_of(d.filetype);
  g_next.MPI_Type_commit(&etype);
  g_next.MPI_Type_commit(&filetype);
  g_next.MPI_File_set_view(real, d.displacement, etype, filetype, d.representation.c_str(), info);
  give_back_type(&etype);
  give_back_type(&filetype);
}

/// The members cannot go on without their file. All of them have the error.
[[noreturn]] void end_without_file(const VirtualFile& file, MPI_Comm comm, int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  g_next.MPI_Error_string(code, text, &length);
  if (file.rank == 0)
    dprintf(STDERR_FILENO,
            "fgmpi-checkpoint: the job cannot go on: %s cannot be opened again: %s\n",
            file.path.c_str(), text);
  g_next.MPI_Barrier(comm);
  g_next.MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void remake_file(LayerRank& rank, VirtualFile* file) {
  const FileDescription& d = *file->described;
  constexpr int kOnce =
      MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE;
  const CommOfMembers comm(rank, d.members);
  MPI_Info info = info_of(file->hints);
  MPI_File real = MPI_FILE_NULL;
  const int code =
      g_next.MPI_File_open(comm.real(), file->path.c_str(), file->amode & ~kOnce, info, &real);
  if (code != MPI_SUCCESS) end_without_file(*file, comm.real(), code);
  file->real = number_of(real);
  remake_view(d, real, info);
  g_next.MPI_Info_free(&info);
  g_next.MPI_File_seek(real, d.pointer, MPI_SEEK_SET);
  g_next.MPI_File_seek_shared(real, d.shared_pointer, MPI_SEEK_SET);
  if (d.atomic) g_next.MPI_File_set_atomicity(real, d.atomic);
  g_next.MPI_File_set_errhandler(real, real_of(rank, Object::kErrhandler, d.errhandler));
  file->described.reset();
}

}  // namespace

void describe_files(LayerRank& rank) {
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  g_next.MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  rank.file_errors = virtual_of(rank, Object::kErrhandler, handler);
  g_next.MPI_Errhandler_free(&handler);
  g_next.MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  for_each_by_key(rank.files, [&](VirtualFile* file) { describe_file(rank, file); });
}

void discard_files(LayerRank& rank) {
  for_each_by_key(rank.files, [](VirtualFile* file) {
    MPI_File real = file_of_number(file->real);
    g_next.MPI_File_close(&real);
  });
}

void remake_files(LayerRank& rank) {
  for_each_by_key(rank.files, [&](VirtualFile* file) { remake_file(rank, file); });
  g_next.MPI_File_set_errhandler(MPI_FILE_NULL,
                                 real_of(rank, Object::kErrhandler, rank.file_errors));
}

void restore_files(LayerRank& rank) {
  for (const RegisteredRepresentation& each : rank.representations) register_again(each);
  rank.files.for_each([](int, const VirtualFile* file) {
    struct stat about = {};
    const char* const path = file->path.c_str();
    if (file->rank != 0 || file->amode & MPI_MODE_RDONLY || stat(path, &about) != 0) return;
    const auto now = static_cast<long long>(about.st_size),
               before = static_cast<long long>(file->described->bytes);
    if (now > before && truncate(path, before) == 0)
      dprintf(STDERR_FILENO,
              "fgmpi-checkpoint: %s is cut back from %lld to %lld bytes, as at the checkpoint\n",
              path, now, before);
    else if (now != before)
      dprintf(STDERR_FILENO,
              "fgmpi-checkpoint: %s has %lld bytes, unlike at the checkpoint (%lld)\n", path, now,
              before);
  });
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_File_open, (MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* fh),
           open_file(comm, name, amode, info, fh))
FGMPI_BOTH(MPI_File_close, (MPI_File * fh), close_file(fh))
FGMPI_BOTH(MPI_File_get_amode, (MPI_File fh, int* amode), amode_of(fh, amode))
FGMPI_BOTH(MPI_Register_datarep,
           (const char* name, MPI_Datarep_conversion_function* read,
            MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent,
            void* extra),
           register_representation(g_next.MPI_Register_datarep, name, read, write, extent, extra,
                                   false))
FGMPI_BOTH(MPI_Register_datarep_c,
           (const char* name, MPI_Datarep_conversion_function_c* read,
            MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
            void* extra),
           register_representation(g_next.MPI_Register_datarep_c, name, read, write, extent, extra,
                                   true))
