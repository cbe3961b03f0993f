#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/attach.h"
#include "base/buffer.h"
#include "base/copy.h"
#include "base/count_words.h"
#include "base/fields.h"
#include "base/file_text.h"
#include "base/list.h"
#include "base/slab.h"
#include "base/split.h"
#include "base/status.h"
#include "base/strings.h"

namespace fgmpi {
namespace {

TEST(Status, CarriesClassAndWords) {
  EXPECT_TRUE(Status().ok());
  Status s = error(6, "rank is %d; allowed is 0 to %d", 9, 3);
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.error_class(), 6);
  EXPECT_EQ(s.what(), "rank is 9; allowed is 0 to 3");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(CountWords, OneIsSingular) {
  EXPECT_EQ(count_words(0, "byte"), "0 bytes");
  EXPECT_EQ(count_words(1, "byte"), "1 byte");
  EXPECT_EQ(count_words(1, "process"), "1 process");
  EXPECT_EQ(count_words(7, "process"), "7 processes");
}

TEST(FileText, WhatIsThereAndNothingElse) {
  char name[] = "/tmp/fgmpi_file_text_XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  const std::string long_text = "  first second\n" + std::string(10000, 'x');
  ASSERT_EQ(write(fd, long_text.data(), long_text.size()), static_cast<ssize_t>(long_text.size()));
  close(fd);
  EXPECT_EQ(text_of_file(name), long_text);
  EXPECT_EQ(first_word_of_file(name), "first");
  unlink(name);
  EXPECT_EQ(text_of_file(name), "");
  EXPECT_EQ(text_of_file("/tmp"), "");  // a folder: reading it fails
  EXPECT_EQ(first_word_of_file("/dev/null"), "");
}

struct Asked {
  std::vector<pid_t> named;
  AttachPermission permission;
  explicit Asked(int scope) : permission(scope, [this](pid_t pid) { named.push_back(pid); }) {}
};

TEST(AttachPermission, IsAskedForOnlyWhereTheKernelWantsIt) {
  for (int scope : {0, 2, 3}) {
    Asked asked(scope);
    asked.permission.set_launcher(100);
    asked.permission.allow(200);
    EXPECT_TRUE(asked.named.empty()) << "scope " << scope;
  }
}

TEST(AttachPermission, NamesTheLauncherOnceForAllPeers) {
  Asked asked(1);
  asked.permission.set_launcher(100);
  EXPECT_TRUE(asked.named.empty()) << "before anybody needs it";
  for (pid_t peer : {200, 300, 200}) asked.permission.allow(peer);
  EXPECT_EQ(asked.named, std::vector<pid_t>{100});
}

TEST(AttachPermission, NamesThePeerThatNeedsItWhereTheLauncherIsNotKnown) {
  Asked asked(1);
  asked.permission.set_launcher(0);
  for (pid_t peer : {200, 200, 300, 200}) asked.permission.allow(peer);
  EXPECT_EQ(asked.named, (std::vector<pid_t>{200, 300, 200}));
}

TEST(AttachPermission, FindsWhoMadeASocket) {
  int pair[2], pipe_ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(maker_of_socket(pair[0]), getpid());
  EXPECT_EQ(maker_of_socket(pipe_ends[0]), 0);
  EXPECT_EQ(maker_of_socket(-1), 0);
  for (int fd : {pair[0], pair[1], pipe_ends[0], pipe_ends[1]}) close(fd);
}

TEST(Copy, EveryLengthAndAlignmentAndNothingBeyond) {
  constexpr size_t kMost = 4200, kRoom = kMost + 256;
  std::vector<char> from(kRoom), to(kRoom), model(kRoom);
  std::mt19937 random(7);
  for (char& c : from) c = static_cast<char>(random());
  auto check = [&](size_t length, size_t at, size_t source) {
    std::fill(to.begin(), to.end(), 'x');
    model = to;
    std::memcpy(model.data() + at, from.data() + source, length);
    copy_across(to.data() + at, from.data() + source, length);
    EXPECT_EQ(to, model) << length << " bytes, from " << source << " to " << at;
    if (length < 64) return;
    for (Registers registers : usable_registers()) {
      std::fill(to.begin(), to.end(), 'x');
      copy_by_loads(to.data() + at, from.data() + source, length, registers);
      EXPECT_EQ(to, model) << length << " bytes by loads, from " << source << " to " << at;
    }
    alignas(64) static char lines[kMost + 128];
    for (Registers registers : usable_registers()) {
      std::fill(std::begin(lines), std::end(lines), 'x');
      copy_past_caches(lines, from.data() + source, length, registers);
      EXPECT_EQ(memcmp(lines, from.data() + source, length), 0) << length << " past the caches";
      EXPECT_EQ(lines[length], 'x') << length;
    }
  };
  for (size_t length = 0; length <= kMost; length += length < 300 || length % 64 > 60 ? 1 : 3)
    check(length, random() % 128, random() % 128);
  for (size_t at = 0; at < 64; ++at)
    for (size_t source : {0, 1, 31, 63}) check(1024 + at, at, source);
}

TEST(Copy, PastTheCachesFromAndToAnywhere) {
  std::vector<char> source(5000), target;
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 7);
  for (Registers registers : usable_registers())
    for (size_t from : {0, 1, 13})
      for (size_t to : {0, 5, 16})
        for (size_t bytes : {0, 1, 64, 256, 257, 300, 4096, 4500}) {
          target.assign(5000, 0);
          copy_past_caches(target.data() + to, source.data() + from, bytes, registers);
          EXPECT_EQ(std::memcmp(source.data() + from, target.data() + to, bytes), 0);
          for (size_t i = 0; i < target.size(); ++i)
            ASSERT_TRUE((i >= to && i < to + bytes) || target[i] == 0);
        }
}

TEST(Strings, WordsAreTakenOff) {
  std::string_view text = "a,,bc,d";
  EXPECT_EQ(split_word(&text, ','), "a");
  EXPECT_EQ(split_word(&text, ','), "");
  EXPECT_EQ(split_word(&text, ';'), "bc,d");
  EXPECT_EQ(text, "");
  EXPECT_EQ(split_word(&text, ','), "");
  uint64_t number = 0;
  EXPECT_TRUE(read_number("ff", &number, 16));
  EXPECT_EQ(number, 255u);
  for (const char* bad : {"", "g", "-1", "1 ", "11111111111111111"})
    EXPECT_FALSE(read_number(bad, &number, 16)) << bad;
}

TEST(Strings, NumbersAreStrict) {
  EXPECT_EQ(parse_int("12"), 12);
  EXPECT_EQ(parse_int("-3"), -3);
  for (const char* bad : {"", "x", "1x", " 1", "99999999999999999999"})
    EXPECT_FALSE(parse_int(bad)) << bad;
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size("2G"), int64_t{2} << 30);
  for (const char* bad : {"", "k", "-1", "9999999999g"}) EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Slab, AgreesWithAMapUnderRandomUse) {
  Slab<std::string, 3> slab;
  std::unordered_map<uint32_t, std::string> model;
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    if (model.empty() || random() % 3) {
      std::string value = std::to_string(step);
      int64_t index = slab.create(value);
      ASSERT_GE(index, 0);
      ASSERT_TRUE(model.emplace(index, value).second);
    } else {
      auto it = std::next(model.begin(), random() % std::min<size_t>(model.size(), 10));
      slab.destroy(it->first);
      EXPECT_EQ(slab.get(it->first), nullptr);
      model.erase(it);
    }
    ASSERT_EQ(slab.live(), model.size());
  }
  for (auto& [index, value] : model) EXPECT_EQ(*slab.get(index), value);
  EXPECT_EQ(slab.get(1u << 25), nullptr);
}

TEST(Bytes, AreThereAlsoForNoneAndNotForTooMany) {
  EXPECT_NE(allocate_bytes(0), nullptr);
  const Bytes some = allocate_bytes(100);
  ASSERT_NE(some, nullptr);
  std::memset(some.get(), 1, 100);
#ifndef FGMPI_SANITIZE
  EXPECT_EQ(allocate_bytes(SIZE_MAX / 2), nullptr);
#endif
}

TEST(Split, GivesAllPartsEmptyOnesToo) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("shm,ofi", ','), (Parts{"shm", "ofi"}));
  EXPECT_EQ(split("", ','), (Parts{""}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("a::b:", ':'), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(split("one", ':'), (Parts{"one"}));
}

struct Item {
  Item* next;
  Item* prev;
};

TEST(List, IsADeque) {
  constexpr size_t kItems = 40;
  std::mt19937 random(5);
  std::vector<Item> items(kItems);
  std::deque<Item*> model;
  List<Item> list;
  EXPECT_EQ(sizeof list, sizeof(void*));
  for (int step = 0; step < 50'000; ++step) {
    Item* item = &items[random() % kItems];
    auto at = std::find(model.begin(), model.end(), item);
    if (random() % 4 == 0 && !model.empty()) {
      list.pop_front();
      model.pop_front();
    } else if (at != model.end()) {
      list.remove(item);
      model.erase(at);
    } else {
      model.empty() && random() % 2 ? list.push_only(item) : list.push_back(item);
      model.push_back(item);
    }
    ASSERT_EQ(list.empty(), model.empty());
    ASSERT_EQ(list.front(), model.empty() ? nullptr : model.front());
    ASSERT_EQ(list.back(), model.empty() ? nullptr : model.back());
    ASSERT_EQ(list.size(), model.size());
    size_t i = 0;
    for (Item* x = list.front(); x; x = x->next) ASSERT_EQ(x, model[i++]);
  }
}

TEST(Slab, TrimFreesWhatIsEmptyAtTheEnd) {
  Slab<int> slab;
  std::vector<uint32_t> indices;
  for (int i = 0; i < 10'000; ++i) indices.push_back(static_cast<uint32_t>(slab.create(i)));
  slab.trim();
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(*slab.get(indices[static_cast<size_t>(i)]), i);
  for (int i = 9'999; i >= 0; --i)
    if (i != 700 && i != 3) slab.destroy(static_cast<uint32_t>(i));
  slab.trim();
  EXPECT_EQ(*slab.get(700), 700);
  EXPECT_EQ(*slab.get(3), 3);
  for (uint32_t i : {0u, 4u, 701u, 767u, 768u, 9'999u}) EXPECT_EQ(slab.get(i), nullptr) << i;
  // Each free slot is used once, the low ones first.
  std::set<int64_t> again;
  for (int i = 0; i < 2'000; ++i) {
    const int64_t index = slab.create(-i);
    EXPECT_TRUE(index != 700 && index != 3 && again.insert(index).second) << index;
    if (i < 766) {
      EXPECT_LT(index, 768);
    }
  }
  EXPECT_EQ(*again.rbegin(), 2'001);
  EXPECT_EQ(slab.live(), 2'002u);
}

TEST(Escaped, ControlCharactersOnly) {
  EXPECT_EQ(escaped("plain text, 100 %"), "plain text, 100 %");
  EXPECT_EQ(escaped("a\nb\tc\\d"), "a\\nb\\tc\\\\d");
  EXPECT_EQ(escaped(std::string_view("\0\x1b[2J\x7f\r", 7)), "\\x00\\x1b[2J\\x7f\\x0d");
  EXPECT_EQ(escaped("\xc3\xa4\xe2\x82\xac \xc2\x9b"), "\xc3\xa4\xe2\x82\xac \\xc2\\x9b");
  EXPECT_EQ(html_escaped("<a href=\"x\">&amp"), "&lt;a href=&quot;x&quot;&gt;&amp;amp");
}

TEST(Fields, ReadBackAndNeverBeyondTheEnd) {
  std::vector<uint8_t> bytes;
  append(&bytes, uint64_t{7});
  append_text(&bytes, "name");
  append(&bytes, int16_t{-2});
  append_text(&bytes, "");
  FieldReader in(bytes.data(), bytes.size());
  EXPECT_EQ(in.get<uint64_t>(), 7u);
  EXPECT_EQ(in.get_text(), "name");
  EXPECT_EQ(in.get<int16_t>(), -2);
  EXPECT_EQ(in.get_text(), "");
  EXPECT_FALSE(in.failed() || in.left());
  EXPECT_EQ(in.get<uint8_t>(), 0);
  EXPECT_TRUE(in.failed());
  for (unsigned width = 0; width < 256; ++width) {
    FieldReader number(bytes.data(), bytes.size());
    EXPECT_EQ(number.get_number(width), width && width <= 8 ? 7u : 0u) << width;
    EXPECT_EQ(number.failed(), width > 8) << width;
  }
  const uint32_t huge = ~0u;
  FieldReader text(&huge, sizeof huge);
  EXPECT_EQ(text.get_text(), "");
  EXPECT_TRUE(text.failed());
}

}  // namespace
}  // namespace fgmpi
