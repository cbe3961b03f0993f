// HashTable<T, Traits>: objects found by a key that they contain. Each has a hook of 8 bytes for
// the table and is never moved or copied. The table is Boost.Intrusive's unordered_set; its buckets
// (8 bytes each) double when they are as many as the objects.
//
//   struct Peer : HashTableHook { uint64_t id; ... };
//   struct PeerById {
//     static uint64_t key(const Peer& p) { return p.id; }
//     static uint64_t hash(uint64_t id) { return mix(id); }
//   };
//   HashTable<Peer, PeerById> peers;
//
// Thread rule: one thread. Invariants: an object is in at most one table; the table owns nothing.
// insert() does not fail: without memory for more buckets, find() becomes slower.
#pragma once

#include <boost/intrusive/unordered_set.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace fgmpi {

using HashTableHook = boost::intrusive::unordered_set_base_hook<
    boost::intrusive::link_mode<boost::intrusive::normal_link>>;

template <class T, class Traits>
class HashTable {
 public:
  using Key = std::decay_t<decltype(Traits::key(std::declval<const T&>()))>;

  HashTable() : buckets_(new Bucket[kFewest]), set_(BucketTraits(buckets_.get(), kFewest)) {}
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;
  ~HashTable() { set_.clear(); }

  size_t size() const { return set_.size(); }
  bool empty() const { return set_.empty(); }
  /// Bytes of the table itself.
  size_t bytes() const { return set_.bucket_count() * sizeof(Bucket); }

  /// The object with this key, or nullptr.
  T* find(const Key& key) {
    auto at = set_.find(key, Hash(), std::equal_to<Key>());
    return at == set_.end() ? nullptr : &*at;
  }
  /// Adds an object. REQUIRES: the table has no object with its key.
  void insert(T* object) {
    if (set_.size() == set_.bucket_count()) grow();
    set_.insert(*object);
  }
  /// Removes an object. REQUIRES: the object is in the table.
  void erase(T* object) { set_.erase(set_.iterator_to(*object)); }
  /// Calls f(T&) for each object, in no order. f must not change the table.
  template <class F>
  void for_each(F&& f) {
    for (T& object : set_) f(object);
  }

 private:
  struct Hash {
    size_t operator()(const Key& key) const { return static_cast<size_t>(Traits::hash(key)); }
  };
  struct KeyOf {
    using type = Key;
    Key operator()(const T& object) const { return Traits::key(object); }
  };
  using Set = boost::intrusive::unordered_set<
      T, boost::intrusive::key_of_value<KeyOf>, boost::intrusive::hash<Hash>,
      boost::intrusive::equal<std::equal_to<Key>>, boost::intrusive::power_2_buckets<true>>;
  using Bucket = typename Set::bucket_type;
  using BucketTraits = typename Set::bucket_traits;
  static constexpr size_t kFewest = 16;

  void grow() {
    const size_t more = 2 * set_.bucket_count();
    std::unique_ptr<Bucket[]> buckets(new (std::nothrow) Bucket[more]);
    if (!buckets) return;
    set_.rehash(BucketTraits(buckets.get(), more));
    buckets_ = std::move(buckets);
  }

  std::unique_ptr<Bucket[]> buckets_;
  Set set_;
};

}  // namespace fgmpi
