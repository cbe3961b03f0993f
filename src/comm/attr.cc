#include "comm/attr.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace fgmpi::comm {
namespace {

// MPICH: direct, keyval (9), the kind of object in bits 25..22, a 22-bit index.
constexpr uint32_t kCommKeyvals = 0xa4400000u, kWinKeyvals = 0xa6000000u;
constexpr uint32_t kIndexMask = 0x3fffffu;

struct Keyval {
  void* copy = nullptr;
  void* remove = nullptr;
  void* extra = nullptr;
  CopyProxy copy_proxy = nullptr;
  DeleteProxy delete_proxy = nullptr;
  uint32_t references = 1;
  bool freed = false;
};

Slab<Keyval> g_keyvals[2];

uint32_t base_of(KeyvalOf of) { return of == KeyvalOf::kComm ? kCommKeyvals : kWinKeyvals; }

/// The keyval behind a number of either kind, also one that the user freed.
Keyval* keyval_of(int keyval) {
  uint32_t bits = static_cast<uint32_t>(keyval);
  for (KeyvalOf of : {KeyvalOf::kComm, KeyvalOf::kWin})
    if ((bits & ~kIndexMask) == base_of(of))
      return g_keyvals[static_cast<int>(of)].get(bits & kIndexMask);
  return nullptr;
}

/// Also one that the user freed: while attributes use it, it can do all that it could before, and be freed again (as
/// in MPICH).
Status find_keyval(KeyvalOf of, int keyval, Keyval** out) {
  bool ours = (static_cast<uint32_t>(keyval) & ~kIndexMask) == base_of(of);
  *out = ours ? keyval_of(keyval) : nullptr;
  if (*out) return {};
  if (keyval == MPI_KEYVAL_INVALID)
    return error(MPI_ERR_KEYVAL,
                 "keyval is MPI_KEYVAL_INVALID; allowed is one that MPI_%s_create_keyval gave",
                 of == KeyvalOf::kComm ? "Comm" : "Win");
  return error(MPI_ERR_KEYVAL, "keyval is 0x%08x, which is not a keyval of a %s or was freed",
               static_cast<unsigned>(keyval), of == KeyvalOf::kComm ? "communicator" : "window");
}

void release(int keyval) {
  Keyval* k = keyval_of(keyval);
  if (--k->references > 0) return;
  uint32_t bits = static_cast<uint32_t>(keyval);
  g_keyvals[(bits & ~kIndexMask) == kWinKeyvals].destroy(bits & kIndexMask);
}

/// Keeps a keyval while its functions run, which may free it and delete the attributes that use it.
class KeepKeyval {
 public:
  explicit KeepKeyval(int keyval) : keyval_(keyval) { ++keyval_of(keyval)->references; }
  ~KeepKeyval() { release(keyval_); }
  KeepKeyval(const KeepKeyval&) = delete;

 private:
  int keyval_;
};

/// A C function gets a pointer set from C as it is, and an integer from Fortran by its address.
void* value_for_c(Attribute& a) { return a.kind == kAttrPointer ? a.value : &a.value; }

int call_delete(Attribute& a, int handle) {
  Keyval* k = keyval_of(a.keyval);
  if (!k->remove) return MPI_SUCCESS;
  if (k->delete_proxy)
    return k->delete_proxy(k->remove, handle, a.keyval, a.kind, a.value, k->extra);
  auto* function = reinterpret_cast<MPI_Comm_delete_attr_function*>(k->remove);
  return function(handle, a.keyval, value_for_c(a), k->extra);
}

Attributes::iterator find(Attributes* list, int keyval) {
  return std::find_if(list->begin(), list->end(),
                      [&](const Attribute& a) { return a.keyval == keyval; });
}

/// Takes it out after its delete function succeeded. That may change the list: it is looked for again.
int remove_one(Attributes* list, int handle, int keyval) {
  KeepKeyval keep(keyval);
  if (int code = call_delete(*find(list, keyval), handle); code != MPI_SUCCESS) return code;
  if (auto a = find(list, keyval); a != list->end()) {
    list->erase(a);
    release(keyval);
  }
  return MPI_SUCCESS;
}

}  // namespace

Status create_keyval(KeyvalOf of, void* copy, void* remove, void* extra, int* keyval) {
  Slab<Keyval>& slab = g_keyvals[static_cast<int>(of)];
  if (slab.live() >= kIndexMask)
    return error(MPI_ERR_OTHER, "this process has %u keyvals in use, the most that are allowed",
                 slab.live());
  auto index = static_cast<uint32_t>(slab.create());
  Keyval* k = slab.get(index);
  k->copy = copy;
  k->remove = remove;
  k->extra = extra;
  *keyval = static_cast<int>(base_of(of) | index);
  return {};
}

Status free_keyval(KeyvalOf of, int keyval) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  if (k->freed) return {};  // its attributes keep it
  k->freed = true;
  release(keyval);
  return {};
}

bool set_proxies(int keyval, CopyProxy copy, DeleteProxy remove) {
  Keyval* k = keyval_of(keyval);
  if (!k) return false;
  k->copy_proxy = copy;
  k->delete_proxy = remove;
  return true;
}

Status set_attribute(KeyvalOf of, Attributes* list, int handle, int keyval, void* value,
                     AttrKind kind, int* code) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  KeepKeyval keep(keyval);
  *code = MPI_SUCCESS;
  if (auto a = find(list, keyval); a != list->end()) {
    *code = call_delete(*a, handle);
    if (*code != MPI_SUCCESS) return {};
    a = find(list, keyval);
    if (a != list->end()) {
      a->value = value;
      a->kind = kind;
      return {};
    }
  }
  list->push_back({keyval, kind, value});
  ++k->references;
  return {};
}

Status get_attribute(KeyvalOf of, Attributes* list, int keyval, AttrKind kind, void* value,
                     bool* found) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  *found = false;
  if (!list) return {};
  auto a = find(list, keyval);
  if (a == list->end()) return {};
  *found = true;
  // Into C an integer goes by its address; every other reading is of the address-sized value itself.
  void* word = kind == kAttrPointer ? value_for_c(*a) : a->value;
  if (kind == kAttrInt)
    word = reinterpret_cast<void*>(
        static_cast<intptr_t>(static_cast<int>(reinterpret_cast<intptr_t>(word))));
  std::memcpy(value, &word, sizeof word);
  return {};
}

Status delete_attribute(KeyvalOf of, Attributes* list, int handle, int keyval, int* code) {
  Keyval* k;
  *code = MPI_SUCCESS;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  if (list && find(list, keyval) != list->end()) *code = remove_one(list, handle, keyval);
  return {};
}

int copy_attributes(Attributes* from, int handle, Attributes* to) {
  // A copy function may set and delete attributes: those there now are copied, if they are still there.
  std::vector<int> keyvals;
  for (const Attribute& a : *from) keyvals.push_back(a.keyval);
  for (int keyval : keyvals) {
    auto at = find(from, keyval);
    if (at == from->end()) continue;
    Keyval* k = keyval_of(keyval);
    if (!k->copy) continue;
    KeepKeyval keep(keyval);
    Attribute made = *at;
    int flag = 0, code;
    if (k->copy_proxy) {
      code = k->copy_proxy(k->copy, handle, keyval, k->extra, made.kind, made.value, &made.value,
                           &flag);
    } else {
      auto* function = reinterpret_cast<MPI_Comm_copy_attr_function*>(k->copy);
      void *in = value_for_c(*at), *out = nullptr;
      code = function(handle, keyval, k->extra, in, &out, &flag);
      // What a C function gave out is a C pointer, unless it passed on the address of an integer.
      if (flag && (made.kind == kAttrPointer || out != in)) made = {keyval, kAttrPointer, out};
    }
    if (code != MPI_SUCCESS) return code;
    if (!flag) continue;
    to->push_back(made);
    ++keyval_of(keyval)->references;
  }
  return MPI_SUCCESS;
}

int delete_attributes(Attributes* list, int handle) {
  while (!list->empty())
    if (int code = remove_one(list, handle, list->back().keyval); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

void drop_attributes(Attributes* list) {
  for (const Attribute& a : *list) release(a.keyval);
  list->clear();
}

void give_integer(intptr_t* storage, AttrKind kind, void* value) {
  if (kind == kAttrPointer)
    std::memcpy(value, &storage, sizeof storage);
  else
    std::memcpy(value, storage, sizeof *storage);
}

uint32_t keyval_count() { return g_keyvals[0].live() + g_keyvals[1].live(); }

}  // namespace fgmpi::comm
