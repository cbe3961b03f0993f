// The values and the keys of pthread_key_create for programs (thread_keys.cc).
//
// Both may lie in the slot of a rank, and go with it to another process: a rank that has one has
// keys of its own there, and numbers that other ranks have, too.
#pragma once

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/plain_mutex.h"
#include "privatize/image/slot_array.h"

namespace fgmpi::privatize {

/// Keys that this library has made, of a rank, or of all that have no slot. Thread rule: any
/// thread.
class ThreadKeys {
 public:
  using Destructor = void(void*);
  /// Above the C library's keys in every version of it.
  static constexpr pthread_key_t kFirst = 1 << 16;

  /// False: there is no memory, or no number.
  bool add(pthread_key_t* key, Destructor* destructor) {
    const std::lock_guard<PlainMutex> lock(mutex_);
    if (next_ == ~pthread_key_t{0} || !keys_.push_back({next_, false, destructor})) return false;
    *key = next_++;
    return true;
  }

  bool remove(pthread_key_t key) {
    const std::lock_guard<PlainMutex> lock(mutex_);
    MadeKey* found = find(key);
    if (!found) return false;
    found->removed = true;
    if (++removed_ > keys_.size() / 2) {
      keys_.erase_if([](const MadeKey& made) { return made.removed; });
      removed_ = 0;
    }
    return true;
  }

  /// The key's destructor; nullptr where it has none, or has been deleted.
  Destructor* destructor(pthread_key_t key) {
    const std::lock_guard<PlainMutex> lock(mutex_);
    const MadeKey* found = find(key);
    return found ? found->destructor : nullptr;
  }

 private:
  struct MadeKey {
    pthread_key_t key;
    bool removed;
    Destructor* destructor;
  };
  MadeKey* find(pthread_key_t key) {
    MadeKey* at =
        std::lower_bound(keys_.begin(), keys_.end(), key,
                         [](const MadeKey& made, pthread_key_t k) { return made.key < k; });
    return at != keys_.end() && at->key == key && !at->removed ? at : nullptr;
  }

  PlainMutex mutex_;
  SlotArray<MadeKey> keys_;  ///< in ascending order
  uint32_t removed_ = 0;     ///< of these
  pthread_key_t next_ = kFirst;
};

/// The values of one rank or thread: a hash table with open addressing, at most half full. Keys are
/// consecutive numbers, so the first probe finds most of them.
class ThreadValues {
 public:
  /// `keys`: those that the values belong to; they outlive the values.
  explicit ThreadValues(ThreadKeys* keys) : keys_(keys) {}
  ThreadValues(const ThreadValues&) = delete;
  ThreadValues& operator=(const ThreadValues&) = delete;
  ~ThreadValues() { free(entries_); }

  void* get(pthread_key_t key) const { return entries_ ? find(key)->value : nullptr; }

  /// False when out of memory.
  bool set(pthread_key_t key, void* value) {
    if (!entries_ && !resize(8)) return false;
    ThreadKeyValue* entry = find(key);
    if (entry->key == 0) {
      if (!value) return true;
      if (2 * (used_ + 1) > size()) {
        if (!make_room()) return false;
        entry = find(key);
      }
      entry->key = key;
      ++used_;
    }
    entry->value = value;
    return true;
  }

  /// Removes and returns the first value, from entry *at on, for which wanted(key) is true;
  /// nullptr: there is none. *at becomes its entry.
  template <class Wanted>
  void* take(uint32_t* at, Wanted wanted) {
    for (; entries_ && *at < size(); ++*at)
      if (entries_[*at].value && wanted(entries_[*at].key))
        return std::exchange(entries_[*at].value, nullptr);
    return nullptr;
  }

  ThreadKeys& keys() const { return *keys_; }

  template <class See>
  void visit(See&& see) const {
    for (uint32_t i = 0; entries_ && i < size(); ++i)
      if (entries_[i].value) see(&entries_[i].value);
  }

 private:
  struct ThreadKeyValue {
    pthread_key_t key;  ///< 0: free
    void* value;
  };

  uint32_t size() const { return mask_ + 1; }

  /// The key's entry, or the free one where it would go.
  ThreadKeyValue* find(pthread_key_t key) const {
    uint32_t i = key & mask_;
    while (entries_[i].key != key && entries_[i].key != 0) i = (i + 1) & mask_;
    return &entries_[i];
  }

  bool resize(uint32_t size) {
    auto* fresh =
        static_cast<ThreadKeyValue*>(allocate_in_slot_of(this, size * sizeof(ThreadKeyValue)));
    if (!fresh) return false;
    memset(fresh, 0, size * sizeof(ThreadKeyValue));
    ThreadKeyValue* old = std::exchange(entries_, fresh);
    uint32_t old_mask = std::exchange(mask_, size - 1);
    used_ = 0;
    for (uint32_t i = 0; old && i <= old_mask; ++i) {
      if (!old[i].value) continue;
      *find(old[i].key) = old[i];
      ++used_;
    }
    free(old);
    return true;
  }

  /// Drops keys without a value, and doubles the table where that does not make enough room.
  /// Returns false when out of memory.
  bool make_room() {
    uint32_t live = 0;
    for (uint32_t i = 0; i < size(); ++i) live += entries_[i].value ? 1 : 0;
    return resize(4 * (live + 1) > size() ? 2 * size() : size());
  }

  ThreadKeys* keys_;
  ThreadKeyValue* entries_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t used_ = 0;  ///< entries with a key
};

}  // namespace fgmpi::privatize
