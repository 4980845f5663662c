// A connection that takes and gives little at a time.
#include "lib/nodes/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <string>

namespace {

using hiway::detail::nodes::Bytes;
using hiway::detail::nodes::Channel;
using hiway::detail::nodes::Descriptor;
using hiway::detail::nodes::Kind;

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    for (int const end : ends) {
      int const little = 4096;
      setsockopt(end, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    }
    one = Descriptor(ends[0]);
    other = Descriptor(ends[1]);
  }
  Descriptor one, other;
};

TEST(NodesChannel, MessagesPassInPieces) {
  Pair pair;
  Channel one(std::move(pair.one)), other(std::move(pair.other));
  auto const large = std::make_shared<Bytes>(std::size_t{1} << 20);
  for (std::size_t i = 0; i < large->size(); ++i) (*large)[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  one.send({Kind::bytes, 5, large});
  one.send({Kind::text, 6, nullptr});
  one.step();
  EXPECT_TRUE(one.has_to_send()) << "the socket holds less";
  while (one.has_to_send()) {
    one.step();
    other.step();
  }
  other.step();
  auto const first = other.take(), second = other.take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kind, Kind::bytes);
  EXPECT_EQ(first->node, 5u);
  EXPECT_TRUE(*first->bytes == *large);
  EXPECT_EQ(second->kind, Kind::text);
  EXPECT_TRUE(second->bytes->empty());
  EXPECT_FALSE(other.take());
}

TEST(NodesChannel, WhatWasSaidBeforeTheEndIsStillHeard) {
  Pair pair;
  Channel one(std::move(pair.one));
  {
    Channel other(std::move(pair.other));
    other.send({Kind::failed, 0, std::make_shared<Bytes>(3)});
    other.step();
  }
  one.send({Kind::bytes, 1, std::make_shared<Bytes>(std::size_t{1} << 20)});  // no SIGPIPE, which would end the test
  one.step();
  auto const last = one.take();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, Kind::failed);
  one.step();
  EXPECT_EQ(one.broken(), "its connection was closed");
  EXPECT_FALSE(one.has_to_send());
  one.send({Kind::bytes, 1, nullptr});
  EXPECT_FALSE(one.has_to_send());
}

}  // namespace
