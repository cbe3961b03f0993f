// Keyvals, and the lists of attributes that objects have.

#include "comm/attr.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "host/handle_bits.h"
#include "proclet-sched/sched.h"

namespace fgmpi::comm {
namespace {

constexpr uint32_t kIndexMask = host::kKeyvalIndexMask;
constexpr uint32_t first_keyval_of(host::HandleObject object) {
  return host::keyval_base(host::HandleKind::kDirect, object);
}
struct KeyvalKind {
  uint32_t base;  ///< first of the kind's keyvals
  const char* create;
  const char* object;
};
constexpr KeyvalKind kKinds[] = {
    {first_keyval_of(host::HandleObject::kComm), "MPI_Comm_create_keyval", "communicator"},
    {first_keyval_of(host::HandleObject::kDatatype), "MPI_Type_create_keyval", "datatype"},
    {first_keyval_of(host::HandleObject::kWin), "MPI_Win_create_keyval", "window"}};
const KeyvalKind& kind_of(KeyvalOf of) { return kKinds[static_cast<int>(of)]; }

struct Keyval {
  void* copy = nullptr;
  void* remove = nullptr;
  void* extra = nullptr;
  CopyProxy copy_proxy = nullptr;
  DeleteProxy delete_proxy = nullptr;
  intptr_t extra_value = 0;  ///< what `extra` points to where it is passed by address
  uint32_t references = 1;
  bool freed = false;
};

Slab<Keyval> g_keyvals[std::size(kKinds)];

/// Finds the slab of the kind to which a keyval belongs; nullptr when the number is no keyval's.
Slab<Keyval>* keyvals_of(int keyval) {
  for (size_t kind = 0; kind < std::size(kKinds); ++kind)
    if ((static_cast<uint32_t>(keyval) & ~kIndexMask) == kKinds[kind].base) return &g_keyvals[kind];
  return nullptr;
}

/// Finds the keyval behind a number of any kind, also one that the user freed.
Keyval* keyval_of(int keyval) {
  Slab<Keyval>* slab = keyvals_of(keyval);
  return slab ? slab->get(static_cast<uint32_t>(keyval) & kIndexMask) : nullptr;
}

/// Finds also a keyval that the user freed. While attributes use such a keyval, the user can do
/// with it all that he could before, and free it again (as in MPICH).
Status find_keyval(KeyvalOf of, int keyval, Keyval** out) {
  bool ours = keyvals_of(keyval) == &g_keyvals[static_cast<int>(of)];
  *out = ours ? keyval_of(keyval) : nullptr;
  if (*out) return {};
  if (keyval == MPI_KEYVAL_INVALID)
    return error(MPI_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID; allowed is one that %s gave",
                 kind_of(of).create);
  return error(MPI_ERR_KEYVAL, "keyval is 0x%08x, which is not a keyval of a %s or was freed",
               static_cast<unsigned>(keyval), kind_of(of).object);
}

void release(int keyval) {
  Keyval* k = keyval_of(keyval);
  if (--k->references > 0) return;
  keyvals_of(keyval)->destroy(static_cast<uint32_t>(keyval) & kIndexMask);
}

/// Holds a keyval while its functions run, which may free it and delete the attributes that use it.
class KeyvalGuard {
 public:
  explicit KeyvalGuard(int keyval) : keyval_(keyval) { ++keyval_of(keyval)->references; }
  ~KeyvalGuard() { release(keyval_); }
  KeyvalGuard(const KeyvalGuard&) = delete;

 private:
  int keyval_;
};

/// The value that a C function gets: a pointer set from C as it is, an integer from Fortran by
/// its address.
void* value_for_c(Attribute& a) { return a.kind == kAttrPointer ? a.value : &a.value; }

int call_delete(Attribute& a, int handle) {
  Keyval* k = keyval_of(a.keyval);
  if (!k->remove) return MPI_SUCCESS;
  const sched::UserCallback in_callback;
  if (k->delete_proxy)
    return k->delete_proxy(k->remove, handle, a.keyval, a.kind, a.value, k->extra);
  auto* function = reinterpret_cast<MPI_Comm_delete_attr_function*>(k->remove);
  return function(handle, a.keyval, value_for_c(a), k->extra);
}

Attributes::iterator find(Attributes* list, int keyval) {
  return std::find_if(list->begin(), list->end(),
                      [&](const Attribute& a) { return a.keyval == keyval; });
}

/// Removes an attribute after its delete function has succeeded. That function may change the list,
/// so the attribute is searched for again.
int remove_one(Attributes* list, int handle, int keyval) {
  KeyvalGuard keep(keyval);
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
  *keyval = static_cast<int>(kind_of(of).base | index);
  return {};
}

Status free_keyval(KeyvalOf of, int keyval) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  if (k->freed) return {};  // its attributes still use it
  k->freed = true;
  release(keyval);
  return {};
}

bool set_proxies(int keyval, CopyProxy copy, DeleteProxy remove, bool extra_by_address) {
  Keyval* k = keyval_of(keyval);
  if (!k) return false;
  if (extra_by_address && k->extra) {
    // MPI_KEYVAL_CREATE passes a default integer, so only its bytes are read where the address is
    // not a multiple of 8. Elsewhere eight bytes can be read in any case.
    bool wide = reinterpret_cast<uintptr_t>(k->extra) % sizeof k->extra_value == 0;
    std::memcpy(&k->extra_value, k->extra, wide ? sizeof k->extra_value : sizeof(MPI_Fint));
    k->extra = &k->extra_value;
  }
  k->copy_proxy = copy;
  k->delete_proxy = remove;
  return true;
}

Status set_attribute(KeyvalOf of, Attributes* list, int handle, int keyval, void* value,
                     AttrKind kind, int* code) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  KeyvalGuard keep(keyval);
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
  // C gets an integer by its address; every other reading is of the address-sized value itself.
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
  // A copy function may set and delete attributes. Those in the list now are copied, if they are
  // still in it.
  std::vector<int> keyvals;
  for (const Attribute& a : *from) keyvals.push_back(a.keyval);
  for (int keyval : keyvals) {
    auto at = find(from, keyval);
    if (at == from->end()) continue;
    Keyval* k = keyval_of(keyval);
    if (!k->copy) continue;
    KeyvalGuard keep(keyval);
    Attribute made = *at;
    int flag = 0, code;
    const sched::UserCallback in_callback;
    if (k->copy_proxy) {
      code = k->copy_proxy(k->copy, handle, keyval, k->extra, made.kind, made.value, &made.value,
                           &flag);
    } else {
      auto* function = reinterpret_cast<MPI_Comm_copy_attr_function*>(k->copy);
      void *in = value_for_c(*at), *out = nullptr;
      code = function(handle, keyval, k->extra, in, &out, &flag);
      // A C function returns a C pointer, unless it passed on the address of an integer.
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

void return_integer(intptr_t* storage, AttrKind kind, void* value) {
  if (kind == kAttrPointer)
    std::memcpy(value, &storage, sizeof storage);
  else
    std::memcpy(value, storage, sizeof *storage);
}

uint32_t keyval_count() {
  uint32_t count = 0;
  for (const Slab<Keyval>& slab : g_keyvals) count += slab.live();
  return count;
}

}  // namespace fgmpi::comm
