// Tests of objects that any thread may use at any thread level: info objects, compared with a
// model, and info objects and error handlers used by several threads at once (also under the thread
// sanitizer).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/errhandler.h"
#include "comm/info.h"

namespace fgmpi::comm {
namespace {

/// Runs body(0) to body(3) in four threads.
void in_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(body, t);
  for (std::thread& thread : threads) thread.join();
}

TEST(AnyThread, InfosAreAsInAModel) {
  std::mt19937 random(7);
  std::map<MPI_Info, Hints> model;
  const uint32_t before = info_count();
  auto pick = [&] { return std::next(model.begin(), random() % model.size())->first; };
  for (int step = 0; step < 20000; ++step) {
    const std::string key = "k" + std::to_string(random() % 6);
    const int action = model.empty() ? 0 : static_cast<int>(random() % 8);
    if (action == 0 && model.size() < 300) {
      MPI_Info made = MPI_INFO_NULL;
      ASSERT_TRUE(create_info({}, &made).ok());
      ASSERT_TRUE(model.emplace(made, Hints()).second);
      continue;
    }
    const MPI_Info info = pick();
    Hints& entries = model[info];
    auto at = std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.first == key; });
    if (action == 1) {
      ASSERT_TRUE(free_info(info).ok());
      model.erase(info);
      ASSERT_EQ(free_info(info).error_class(), MPI_ERR_INFO);
      continue;
    }
    if (action == 2) {
      ASSERT_EQ(delete_from_info(info, key.c_str()).ok(), at != entries.end());
      if (at != entries.end()) entries.erase(at);
    } else if (action < 6) {
      const std::string value = std::to_string(step);
      ASSERT_TRUE(set_in_info(info, key.c_str(), value.c_str()).ok());
      put_hint(&entries, {key, value});
    }
    Hints found;
    int count = -1;
    ASSERT_TRUE(entries_of_info(info, &found).ok() && count_info(info, &count).ok());
    ASSERT_EQ(found, entries);
    ASSERT_EQ(static_cast<size_t>(count), entries.size());
    std::string nth;
    ASSERT_EQ(nth_key_of_info(info, count, &nth).error_class(), MPI_ERR_ARG);
    if (count == 0) continue;
    ASSERT_TRUE(nth_key_of_info(info, count - 1, &nth).ok());
    ASSERT_EQ(nth, entries.back().first);
  }
  for (const auto& [info, entries] : model) EXPECT_TRUE(free_info(info).ok());
  EXPECT_EQ(info_count(), before);
  EXPECT_EQ(count_info(MPI_INFO_NULL, nullptr).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(count_info(MPI_COMM_SELF, nullptr).error_class(), MPI_ERR_INFO);
}

TEST(AnyThread, InfosOfSeveralThreads) {
  const uint32_t before = info_count();
  in_threads([](int thread) {
    const std::string value = "of " + std::to_string(thread);
    for (int round = 0; round < 2000; ++round) {
      std::vector<MPI_Info> infos(1 + round % 5);
      for (MPI_Info& info : infos) EXPECT_TRUE(create_info({{"a", value}}, &info).ok());
      for (MPI_Info info : infos) EXPECT_TRUE(set_in_info(info, "b", value.c_str()).ok());
      for (MPI_Info info : infos) {
        Hints found;
        EXPECT_TRUE(entries_of_info(info, &found).ok());
        EXPECT_EQ(found, (Hints{{"a", value}, {"b", value}}));
        EXPECT_TRUE(free_info(info).ok());
      }
    }
  });
  EXPECT_EQ(info_count(), before);
}

thread_local int t_calls = 0;
void handler(void*, int*, ...) { ++t_calls; }

TEST(AnyThread, HandlersOfSeveralThreads) {
  const uint32_t before = errhandler_count();
  MPI_Errhandler shared = MPI_ERRHANDLER_NULL;
  ASSERT_TRUE(create_errhandler(HandlerOf::kSession, handler, &shared).ok());
  in_threads([shared](int) {
    for (int round = 0; round < 2000; ++round) {
      MPI_Errhandler own = MPI_ERRHANDLER_NULL;
      int code = MPI_ERR_OTHER;
      EXPECT_TRUE(create_errhandler(HandlerOf::kSession, handler, &own).ok());
      EXPECT_TRUE(check_errhandler(HandlerOf::kSession, own).ok());
      retain_errhandler(shared);
      EXPECT_TRUE(call_errhandler(shared, nullptr, &code));
      release_errhandler(shared);
      EXPECT_TRUE(call_errhandler(own, nullptr, &code));
      EXPECT_TRUE(free_errhandler(own).ok());
    }
    EXPECT_EQ(t_calls, 4000);
  });
  EXPECT_TRUE(free_errhandler(shared).ok());
  EXPECT_EQ(errhandler_count(), before);
}

}  // namespace
}  // namespace fgmpi::comm
