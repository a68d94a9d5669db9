#include "bus/channels/channels.h"

#include "bus/bus_fixture.h"
#include "bus/channels/limits.h"

namespace chela::bus::channels {
namespace {

class ChannelsTest : public BusTest {
 protected:
  ChannelsTest() { EXPECT_TRUE(channels.add_to(*bus)); }

  json::Value create(Peer& peer, json::Value data = json::Value::object()) {
    peer.call("engine::channels::create", std::move(data));
    return peer.answer();
  }
  ChannelPtr find(const json::Value& ref, End end) {
    return channels.find(ref.string_or("channel_id"), ref.string_or("access_key"), end);
  }

  Channels channels{loop, ids, metrics};
};

TEST_F(ChannelsTest, AWorkerGetsTwoReferencesAndEachKeyOpensItsEndOnly) {
  const json::Value made = *create(join()).find("result");
  const json::Value& reader = *made.find("reader");
  const json::Value& writer = *made.find("writer");
  EXPECT_EQ(reader.string_or("direction"), "read");
  EXPECT_EQ(writer.string_or("direction"), "write");
  EXPECT_TRUE(find(reader, End::kRead));
  EXPECT_TRUE(find(writer, End::kWrite));
  EXPECT_FALSE(find(reader, End::kWrite));
  EXPECT_FALSE(find(writer, End::kRead));
  EXPECT_FALSE(channels.find(reader.string_or("channel_id"), "", End::kRead));
  EXPECT_FALSE(channels.find("other", reader.string_or("access_key"), End::kRead));
}

TEST_F(ChannelsTest, TheBufferIsBetweenOneAndItsLimit) {
  for (const auto& [wanted, given] :
       {std::pair(json::Value(), kDefaultBuffer), std::pair(json::Value(-1), size_t{1}),
        std::pair(json::Value(2), size_t{2}), std::pair(json::Value(99999), kMaxBuffer)}) {
    const json::Value answer = create(join(), json::Value::object({{"buffer_size", wanted}}));
    const ChannelPtr channel = find(*answer.find("result")->find("writer"), End::kWrite);
    size_t written = 0;
    std::stop_source full;
    full.request_stop();
    while (runtime::block_on(loop, channel->write({.data = "x"}, full.get_token()))) ++written;
    EXPECT_EQ(written, given);
  }
}

TEST_F(ChannelsTest, ChannelsGoWithTheirWorker) {
  Peer& worker = join();
  const ChannelPtr channel = find(*create(worker).find("result")->find("reader"), End::kRead);
  create(join());
  worker.leave();
  EXPECT_TRUE(channel->over().stop_requested());
  EXPECT_EQ(channels.size(), 1U);
}

TEST_F(ChannelsTest, AWorkerHasALimitedNumberAndGetsOneBackForEachThatIsOver) {
  Peer& worker = join();
  json::Value last;
  for (size_t i = 0; i < kMaxChannelsPerWorker; ++i) last = create(worker);
  EXPECT_EQ(create(worker).find("error")->string_or("code"), "rate_limited");
  EXPECT_TRUE(create(join()).find("result"));
  const ChannelPtr channel = find(*last.find("result")->find("reader"), End::kRead);
  channel->finish();
  runtime::block_on(loop, channel->read({}));
  EXPECT_TRUE(create(worker).find("result"));
}

TEST_F(ChannelsTest, AChannelWithAnEndThatNobodyTakesIsSwept) {
  Peer& worker = join();
  const ChannelPtr forgotten = find(*create(worker).find("result")->find("reader"), End::kRead);
  const ChannelPtr half = find(*create(worker).find("result")->find("reader"), End::kRead);
  const ChannelPtr used = find(*create(worker).find("result")->find("reader"), End::kRead);
  half->take(End::kWrite);
  used->take(End::kRead);
  used->take(End::kWrite);
  loop.advance(kUntakenTime - kSweepInterval);
  EXPECT_EQ(channels.size(), 3U);
  loop.advance(2 * kSweepInterval);
  EXPECT_EQ(channels.size(), 1U);
  EXPECT_TRUE(forgotten->over().stop_requested());
  EXPECT_TRUE(half->over().stop_requested());
  EXPECT_FALSE(used->over().stop_requested());
}

TEST_F(ChannelsTest, AnOfferMakesAChannelForAnEndThatIsAskedFor) {
  std::vector<End> made;
  auto offer = std::make_unique<Offer>(channels, 2, [&made](End remote, const ChannelPtr& channel) {
    EXPECT_TRUE(channel && !channel->taken(remote));
    made.push_back(remote);
  });
  EXPECT_EQ(channels.offers(), 1U);
  EXPECT_EQ(channels.size(), 0U);
  const std::string reads(offer->key(End::kRead)), writes(offer->key(End::kWrite));
  EXPECT_GE(std::min(reads.size(), writes.size()), 21U);
  EXPECT_FALSE(channels.find(offer->id(), reads, End::kWrite));
  EXPECT_FALSE(channels.find(offer->id(), writes, End::kRead));
  EXPECT_FALSE(channels.find(offer->id(), "", End::kRead));
  EXPECT_TRUE(made.empty());
  const ChannelPtr body = channels.find(offer->id(), reads, End::kRead);
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->taken(End::kWrite)) << "the engine's own";
  EXPECT_EQ(channels.find(offer->id(), reads, End::kRead), body)
      << "one channel, however often it is asked for";
  EXPECT_EQ(made, std::vector{End::kRead});
  EXPECT_EQ(offer->channel(End::kRead), body);
  EXPECT_FALSE(offer->channel(End::kWrite));
  EXPECT_FALSE(channels.find(body->id(), "", End::kRead)) << "only by its offer";
  EXPECT_NE(channels.find(offer->id(), writes, End::kWrite), body);
  const std::string id = offer->id();
  offer.reset();
  EXPECT_EQ(channels.offers(), 0U);
  EXPECT_FALSE(channels.find(id, reads, End::kRead));
  EXPECT_FALSE(body->over().stop_requested()) << "what was made goes on";
  EXPECT_EQ(channels.size(), 2U);
}

}  // namespace
}  // namespace chela::bus::channels
