// Tests of cards and names of ports: written texts are read back, all other texts are refused.
#include "dynamic/contact.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <random>

#include "transport/host_id.h"

namespace fgmpi::dynamic {
namespace {

ProcessContact random_contact(std::mt19937& random, size_t addresses) {
  ProcessContact contact;
  auto hex = [&](size_t digits) {
    std::string text;
    for (size_t i = 0; i < digits; ++i) text += "0123456789abcdef"[random() % 16];
    return text;
  };
  contact.host_id = hex(32);
  contact.name = hex(16);
  contact.port = static_cast<uint16_t>(random());
  for (size_t i = 0; i < addresses; ++i)
    contact.addresses.push_back("255." + std::to_string(random() % 256) + ".199.213");
  return contact;
}

TEST(ProcessContact, WhatIsWrittenIsRead) {
  std::mt19937 random(1);
  for (int k = 0; k < 200; ++k) {
    PortName name{random_contact(random, random() % 5), static_cast<uint32_t>(random()),
                  SecretKey::draw()};
    const std::string text = name.to_string();
    ASSERT_LT(text.size(), static_cast<size_t>(MPI_MAX_PORT_NAME));
    PortName back;
    ASSERT_TRUE(back.parse(text)) << text;
    EXPECT_EQ(back.to_string(), text);
    EXPECT_TRUE(back.key.same(name.key));
    ProcessCard card{name.contact, name.key}, card_back;
    ASSERT_TRUE(card_back.parse(card.to_string()));
    EXPECT_EQ(card_back.to_string(), card.to_string());
    EXPECT_FALSE(back.parse(card.to_string()));
    EXPECT_FALSE(card_back.parse(text));
  }
}

TEST(ProcessContact, NothingElseIsRead) {
  std::mt19937 random(2);
  const PortName name{random_contact(random, 3), 77, SecretKey::draw()};
  const std::string good = name.to_string();
  PortName back;
  for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(back.parse(good.substr(0, cut)));
  EXPECT_FALSE(back.parse(good + "0"));
  EXPECT_FALSE(back.parse("default"));
  for (int k = 0; k < 5000; ++k) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(1 + random() % 255);
    if (!back.parse(bad)) continue;
    EXPECT_EQ(back.to_string(), bad);  // the text has another digit, but a valid form
  }
}

TEST(ProcessContact, OneHostIsReachedOnItsSocket) {
  std::mt19937 random(3);
  ProcessContact contact = random_contact(random, 2);
  EXPECT_EQ(addresses_of(contact).size(), contact.port ? 2u : 0u);
  contact.host_id = transport::host_id();
  ASSERT_EQ(addresses_of(contact).size(), 1u);
  EXPECT_EQ(addresses_of(contact)[0].address.ss_family, AF_UNIX);
}

TEST(SecretKey, DifferAndCompare) {
  const SecretKey a = SecretKey::draw(), b = SecretKey::draw();
  EXPECT_TRUE(a.same(a));
  EXPECT_FALSE(a.same(b));
  SecretKey parsed;
  EXPECT_TRUE(parsed.parse(a.to_string()));
  EXPECT_TRUE(parsed.same(a));
  EXPECT_FALSE(parsed.parse(a.to_string() + "00"));
  EXPECT_FALSE(parsed.parse("xyz"));
}

}  // namespace
}  // namespace fgmpi::dynamic
