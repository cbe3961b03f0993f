// Tests the PMI-2 client with a small server, and with one that answers wrongly.
#include "bootstrap/pmi2.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/line_channel.h"
#include "bootstrap/pmi2_message.h"

namespace fgmpi::bootstrap {
namespace {

TEST(Pmi2Message, IsWrittenAndParsed) {
  Pmi2Message message("kvs-put");
  message.add("key", "a").add("value", "x;;y=z;");
  EXPECT_EQ(message.text(), "cmd=kvs-put;key=a;value=x;;;;y=z;;;");
  EXPECT_EQ(message.wire(), "    35" + message.text());
  auto parsed = Pmi2Message::parse(message.text());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->find("value"), "x;;y=z;");
  EXPECT_EQ(parsed->find("key"), "a");
  EXPECT_FALSE(parsed->find("rc"));
  EXPECT_EQ(Pmi2Message::parse("cmd=a;rc=-3;")->number("rc"), -3);
  EXPECT_FALSE(Pmi2Message::parse("cmd=a;rc=x;")->number("rc"));
}

TEST(Pmi2Message, WhatIsNoneIsRefused) {
  for (const char* text : {"", "cmd", "cmd=a", "=a;", "rc=0;", "cmd=a;;", "cmd=a;b", "cmd=a;b;"})
    EXPECT_FALSE(Pmi2Message::parse(text)) << text;
  for (const char* digits : {"", "      ", "    -1", "     0", "12x   "})
    EXPECT_FALSE(Pmi2Message::length_of(digits)) << digits;
  EXPECT_EQ(Pmi2Message::length_of("    17"), 17u);
  EXPECT_EQ(Pmi2Message::length_of("17    "), 17u);
}

TEST(Pmi2Message, RandomTextsComeBackOrAreRefused) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 20); n >= 0; --n) text += ";;==ac md"[random() % 9];
    if (i % 2) text = "cmd=" + text + ";";
    auto parsed = Pmi2Message::parse(text);
    EXPECT_EQ(parsed ? parsed->text() : text, text);
  }
}

/// A launcher of `size` processes, which serves each connection by a thread of its own. Values
/// become visible by fences.
class Server {
 public:
  explicit Server(int size) : size_(size) {
    for (int p = 0; p < size; ++p) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      clients.push_back(ends[0]);
      channels_.push_back(std::make_unique<LineChannel>(ends[1]));
    }
    for (int p = 0; p < size; ++p) threads_.emplace_back([this, p] { serve(p); });
  }
  ~Server() {
    for (auto& thread : threads_) thread.join();
  }
  std::vector<int> clients;
  std::string aborted;

 private:
  void answer(int p, Pmi2Message message) { channels_[p]->write(message.wire()); }

  void serve(int p) {
    EXPECT_EQ(channels_[p]->read_line(), "cmd=init pmi_version=2 pmi_subversion=0");
    channels_[p]->write("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    for (;;) {
      const auto length = Pmi2Message::length_of(channels_[p]->read_exactly(6));
      const auto request = Pmi2Message::parse(channels_[p]->read_exactly(*length));
      const std::string command = *request->find("cmd");
      Pmi2Message reply(command + "-response");
      reply.add("rc", "0");
      if (command == "abort") {
        aborted = *request->find("msg");
        return;
      }
      if (command == "kvs-fence") {
        fence();
        continue;
      }
      std::lock_guard<std::mutex> lock(mutex_);
      fill(p, command, *request, &reply);
      answer(p, reply);
      if (command == "finalize") return;
    }
  }

  void fill(int p, const std::string& command, const Pmi2Message& request, Pmi2Message* reply) {
    if (command == "fullinit") {
      EXPECT_EQ(request.find("pmijobid"), "7.0");
      reply->add("pmi-version", "2").add("pmi-subversion", "0").add("rank", std::to_string(p));
      reply->add("size", std::to_string(size_)).add("appnum", "-1").add("debugged", "FALSE");
    } else if (command == "kvs-put") {
      pending_[*request.find("key")] = *request.find("value");
    } else if (command == "kvs-get" || command == "info-getjobattr") {
      const std::string key = *request.find("key");
      if (key == "PMI_process_mapping")
        reply->add("found", "TRUE").add("value", "(vector,(0,2,2))");
      else if (values_.count(key))
        reply->add("found", "TRUE").add("value", values_[key]);
      else
        reply->add("found", "FALSE");
    }
  }

  /// A process enters the fence. The last one publishes the values, and all get their answers.
  void fence() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (++entered_ < size_) return;
    entered_ = 0;
    values_.insert(pending_.begin(), pending_.end());
    for (int q = 0; q < size_; ++q) answer(q, Pmi2Message("kvs-fence-response").add("rc", "0"));
  }

  int size_, entered_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> pending_, values_;
  std::vector<std::unique_ptr<LineChannel>> channels_;
  std::vector<std::thread> threads_;
};

TEST(Pmi2Session, ExchangesValues) {
  constexpr int kSize = 4;
  Server server(kSize);
  std::vector<std::thread> processes;
  for (int p = 0; p < kSize; ++p)
    processes.emplace_back([&, p] {
      std::unique_ptr<Bootstrap> boot;
      Status started = start_pmi2(server.clients[p], p, "7.0", &boot);
      ASSERT_TRUE(started.ok()) << started.what();
      EXPECT_EQ(boot->rank(), p);
      EXPECT_EQ(boot->size(), kSize);
      EXPECT_EQ(boot->appnum(), 0);
      EXPECT_EQ(boot->job(), "pmi2_7.0");
      EXPECT_EQ(boot->node_of(), (std::vector<int>{0, 0, 1, 1}));
      for (int round = 0; round < 3; ++round) {
        auto key = [&](int q) { return "k" + std::to_string(round) + "-" + std::to_string(q); };
        const std::string longest(boot->max_value(), static_cast<char>('a' + p));
        EXPECT_TRUE(boot->put(key(p), longest).ok());
        EXPECT_TRUE(boot->fence().ok());
        for (int q = 0; q < kSize; ++q) {
          std::string value;
          EXPECT_TRUE(boot->get(key(q), &value).ok());
          EXPECT_EQ(value, std::string(boot->max_value(), static_cast<char>('a' + q)));
        }
      }
      std::string value;
      Status absent = boot->get("none", &value);
      EXPECT_NE(absent.what().find("'none'"), std::string::npos) << absent.what();
      EXPECT_FALSE(boot->put("key", "a;b").ok());
      EXPECT_FALSE(boot->put("key", std::string(boot->max_value() + 1, 'x')).ok());
      EXPECT_TRUE(boot->finalize().ok());
    });
  for (auto& process : processes) process.join();
}

Status start_with(const std::string& answers, std::unique_ptr<Bootstrap>* boot) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(write(ends[1], answers.data(), answers.size()), static_cast<ssize_t>(answers.size()));
  Status status = start_pmi2(ends[0], 0, "7.0", boot);
  close(ends[1]);
  return status;
}

TEST(Pmi2Session, WrongAnswersAreNamed) {
  const std::string greeting = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";
  auto sized = [](const std::string& body) {
    std::string length = std::to_string(body.size());
    return std::string(6 - length.size(), ' ') + length + body;
  };
  for (const std::string& wrong :
       {std::string("hello\n"), std::string("cmd=response_to_init pmi_version=3 rc=0\n"),
        greeting + "abcdef", greeting + sized("nonsense"),
        greeting + sized("cmd=other-response;rc=0;"),
        greeting + sized("cmd=fullinit-response;rc=14;errmsg=no;"),
        greeting + sized("cmd=fullinit-response;rc=0;rank=3;size=2;")}) {
    std::unique_ptr<Bootstrap> boot;
    Status status = start_with(wrong, &boot);
    EXPECT_FALSE(status.ok()) << wrong;
    EXPECT_NE(status.what().find("launcher"), std::string::npos) << status.what();
  }
}

}  // namespace
}  // namespace fgmpi::bootstrap
