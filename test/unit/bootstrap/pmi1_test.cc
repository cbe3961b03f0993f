// Tests the PMI-1 client with a launcher that has written its answers, right and wrong ones, before
// the client asks.
#include "bootstrap/pmi1.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "bootstrap/pmi_line.h"

namespace fgmpi::bootstrap {
namespace {

/// A session whose launcher has written `answers`; requests() returns the client's requests.
class Session {
 public:
  explicit Session(const std::string& answers) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    launcher_ = ends[1];
    EXPECT_EQ(write(launcher_, answers.data(), answers.size()),
              static_cast<ssize_t>(answers.size()));
    status = start_pmi1(ends[0], "7", &client);
  }
  ~Session() { close(launcher_); }
  std::string requests() const {
    char text[10000];
    const ssize_t n = recv(launcher_, text, sizeof text, MSG_DONTWAIT);
    return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
  }
  Status status;
  std::unique_ptr<Bootstrap> client;

 private:
  int launcher_;
};

const char* const kGreeting =
    "cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n"
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=appnum appnum=1\n"
    "cmd=universe_size size=8\ncmd=my_kvsname kvsname=kvs_1_0\n";

TEST(Pmi1Session, LearnsWhoItIs) {
  Session session(kGreeting);
  ASSERT_TRUE(session.status.ok()) << session.status.what();
  EXPECT_EQ(session.client->rank(), 2);
  EXPECT_EQ(session.client->size(), 3);
  EXPECT_EQ(session.client->appnum(), 1);
  EXPECT_EQ(session.client->universe_size(), 8);
  EXPECT_EQ(session.client->job(), "kvs_1_0");
  EXPECT_EQ(session.client->max_value(), 900u);
  EXPECT_EQ(session.requests(),
            "cmd=initack pmiid=7\ncmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n"
            "cmd=get_appnum\ncmd=get_universe_size\ncmd=get_my_kvsname\n");
}

TEST(Pmi1Session, PutsAndGets) {
  Session session(std::string(kGreeting) +
                  "cmd=put_result rc=0 msg=success\ncmd=barrier_out\n"
                  "cmd=get_result rc=0 value=a=b\ncmd=get_result rc=-1 msg=key_none_not_found\n"
                  "cmd=put_result rc=-1 msg=duplicate_key\ncmd=barrier_out rc=4\n");
  ASSERT_TRUE(session.status.ok());
  Bootstrap& boot = *session.client;
  EXPECT_TRUE(boot.put("key", "value").ok());
  EXPECT_TRUE(boot.fence().ok());
  std::string value;
  EXPECT_TRUE(boot.get("key", &value).ok());
  EXPECT_EQ(value, "a=b");
  Status absent = boot.get("none", &value);
  EXPECT_NE(absent.what().find("'none'"), std::string::npos) << absent.what();
  Status again = boot.put("key", "value");
  EXPECT_NE(again.what().find("duplicate_key"), std::string::npos) << again.what();
  Status fence = boot.fence();
  EXPECT_NE(fence.what().find("rc=4"), std::string::npos) << fence.what();
}

TEST(Pmi1Session, RefusesWhatTheProtocolCannotCarry) {
  Session session(kGreeting);
  ASSERT_TRUE(session.status.ok());
  for (const char* key : {"", "a b", "a=b", "a;b", "a\n", "\x80"})
    EXPECT_FALSE(session.client->put(key, "value").ok()) << key;
  EXPECT_FALSE(session.client->put(std::string(64, 'k'), "value").ok());
  EXPECT_FALSE(session.client->put("key", std::string(1024, 'v')).ok());
  EXPECT_FALSE(session.client->put("key", "two lines\n").ok());
}

// Each answer in turn is replaced by one that makes no sense: the error quotes it.
TEST(Pmi1Session, WrongAnswersAreShown) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"cmd=initack rc=0", "cmd=mcmd"},
      {"cmd=set size=3", "cmd=appnum appnum=1"},
      {"rank=2", "rank=3"},
      {"size=3", "size=0"},
      {"pmi_subversion=1 rc=0", "pmi_subversion=1 rc=1"},
      {"vallen_max=1024", "vallen_max=63"},
      {"vallen_max=1024", "vallen_max=-1"},
      {"keylen_max=64", "keylen_max=x"},
      {"cmd=maxes", "maxes"},
      {"kvsname=kvs_1_0", "kvsname="},
  };
  for (const auto& [right, instead] : wrong) {
    std::string answers = kGreeting;
    answers.replace(answers.find(right), right.size(), instead);
    Session session(answers + "cmd=end\n");
    ASSERT_FALSE(session.status.ok()) << instead;
    const size_t value = instead.find_last_of("= ") + 1;
    EXPECT_NE(session.status.what().find(instead.substr(value)), std::string::npos)
        << instead << ": " << session.status.what();
  }
}

TEST(PmiLine, FindsFirstValues) {
  PmiLine line("cmd=x a=1 a=2 b= c=d=e  =z f g=-5 h=2147483648");
  EXPECT_EQ(line.command(), "x");
  EXPECT_EQ(line.find("a"), "1");
  EXPECT_EQ(line.find("b"), "");
  EXPECT_EQ(line.find("c"), "d=e");
  EXPECT_EQ(line.find(""), "z");
  EXPECT_EQ(line.find("f"), std::nullopt);
  EXPECT_EQ(line.find("z"), std::nullopt);
  EXPECT_EQ(line.number("g"), -5);
  EXPECT_EQ(line.number("h"), std::nullopt);
  EXPECT_EQ(line.number("b"), std::nullopt);
  EXPECT_EQ(PmiLine().find("cmd"), std::nullopt);
}

/// Returns the values of a line, the first for each key, by a naive scan of its letters.
std::map<std::string, std::string> naive_values(const std::string& line) {
  std::map<std::string, std::string> values;
  std::string key, value;
  bool in_value = false;
  for (char c : line + " ") {
    if (c == ' ') {
      if (in_value) values.emplace(key, value);
      key = value = "";
      in_value = false;
    } else if (c == '=' && !in_value) {
      in_value = true;
    } else {
      (in_value ? value : key) += c;
    }
  }
  return values;
}

TEST(PmiLine, RandomLinesAsANaiveScanSeesThem) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t length = random() % 20; length > 0; --length) text += "ab= "[random() % 4];
    const PmiLine line(text);
    const auto values = naive_values(text);
    for (const char* key : {"", "a", "b", "ab", "aa"}) {
      auto expected = values.find(key);
      if (expected == values.end())
        EXPECT_EQ(line.find(key), std::nullopt) << text;
      else
        EXPECT_EQ(line.find(key), expected->second) << text;
    }
  }
}

}  // namespace
}  // namespace fgmpi::bootstrap
