#include "comm/attr.h"

#include <cstring>

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
    if ((bits & ~kIndexMask) == base_of(of)) return g_keyvals[static_cast<int>(of)].get(bits & kIndexMask);
  return nullptr;
}

Status find_keyval(KeyvalOf of, int keyval, Keyval** out) {
  bool ours = (static_cast<uint32_t>(keyval) & ~kIndexMask) == base_of(of);
  *out = ours ? keyval_of(keyval) : nullptr;
  if (*out && !(*out)->freed) return {};
  if (keyval == MPI_KEYVAL_INVALID)
    return error(MPI_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID; allowed is one that MPI_%s_create_keyval gave",
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

/// A C function gets a pointer set from C as it is, and an integer from Fortran by its address.
void* value_for_c(Attribute& a) { return a.kind == kAttrPointer ? a.value : &a.value; }

int call_delete(Attribute& a, int handle) {
  Keyval* k = keyval_of(a.keyval);
  if (!k->remove) return MPI_SUCCESS;
  if (k->delete_proxy) return k->delete_proxy(k->remove, handle, a.keyval, a.kind, a.value, k->extra);
  auto* function = reinterpret_cast<MPI_Comm_delete_attr_function*>(k->remove);
  return function(handle, a.keyval, value_for_c(a), k->extra);
}

Attribute* find(std::vector<Attribute>* list, int keyval) {
  for (Attribute& a : *list)
    if (a.keyval == keyval) return &a;
  return nullptr;
}

/// Takes `a` out after its delete function succeeded. A function may change the list: by keyval, not by place.
int remove_one(std::vector<Attribute>* list, int handle, int keyval) {
  Attribute copy = *find(list, keyval);
  if (int code = call_delete(copy, handle); code != MPI_SUCCESS) return code;
  if (Attribute* a = find(list, keyval)) {
    list->erase(list->begin() + (a - list->data()));
    release(keyval);
  }
  return MPI_SUCCESS;
}

}  // namespace

Status create_keyval(KeyvalOf of, void* copy, void* remove, void* extra, int* keyval) {
  Slab<Keyval>& slab = g_keyvals[static_cast<int>(of)];
  if (slab.live() >= kIndexMask)
    return error(MPI_ERR_OTHER, "this process has %u keyvals in use, the most that are allowed", slab.live());
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

Status set_attribute(KeyvalOf of, std::vector<Attribute>* list, int handle, int keyval, void* value, AttrKind kind,
                     int* code) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  *code = MPI_SUCCESS;
  if (Attribute* a = find(list, keyval)) {
    Attribute old = *a;
    *code = call_delete(old, handle);
    if (*code != MPI_SUCCESS) return {};
    a = find(list, keyval);
    if (a) {
      a->value = value;
      a->kind = kind;
      return {};
    }
  }
  list->push_back({keyval, kind, value});
  ++k->references;
  return {};
}

Status get_attribute(KeyvalOf of, std::vector<Attribute>* list, int keyval, AttrKind kind, void* value, bool* found) {
  Keyval* k;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  Attribute* a = list ? find(list, keyval) : nullptr;
  *found = a != nullptr;
  if (!a) return {};
  // Into C an integer goes by its address; every other reading is of the address-sized value itself.
  void* word = kind == kAttrPointer ? value_for_c(*a) : a->value;
  if (kind == kAttrInt) word = reinterpret_cast<void*>(static_cast<intptr_t>(static_cast<int>(reinterpret_cast<intptr_t>(word))));
  std::memcpy(value, &word, sizeof word);
  return {};
}

Status delete_attribute(KeyvalOf of, std::vector<Attribute>* list, int handle, int keyval, int* code) {
  Keyval* k;
  *code = MPI_SUCCESS;
  FGMPI_TRY(find_keyval(of, keyval, &k));
  if (list && find(list, keyval)) *code = remove_one(list, handle, keyval);
  return {};
}

int copy_attributes(const std::vector<Attribute>& from, int handle, std::vector<Attribute>* to) {
  // By place, not by reference: a copy function may set attributes.
  for (size_t i = 0; i < from.size(); ++i) {
    Attribute a = from[i];
    Keyval* k = keyval_of(a.keyval);
    if (!k->copy) continue;
    int flag = 0, code;
    void* value = nullptr;
    uint8_t kind = a.kind;
    if (k->copy_proxy) {
      code = k->copy_proxy(k->copy, handle, a.keyval, k->extra, a.kind, a.value, &value, &flag);
    } else {
      auto* function = reinterpret_cast<MPI_Comm_copy_attr_function*>(k->copy);
      code = function(handle, a.keyval, k->extra, value_for_c(a), &value, &flag);
      // What a C function gave out is a C pointer, unless it passed on the address of an integer.
      if (flag && a.kind != kAttrPointer && value == &a.value)
        value = a.value;
      else
        kind = kAttrPointer;
    }
    if (code != MPI_SUCCESS) return code;
    if (!flag) continue;
    to->push_back({a.keyval, kind, value});
    ++keyval_of(a.keyval)->references;
  }
  return MPI_SUCCESS;
}

int delete_attributes(std::vector<Attribute>* list, int handle) {
  while (!list->empty())
    if (int code = remove_one(list, handle, list->back().keyval); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

void drop_attributes(std::vector<Attribute>* list) {
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
