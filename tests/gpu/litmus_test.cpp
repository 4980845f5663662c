// The store/load pairs that the end check rests on (termination.hpp T5), on the GPU and across the bus, with the
// machine's own operations: "ticket, then closed" against "closed, then created". One of the two sees the other, or an
// item put after the end would be lost. And that an item is whole for whoever acquires its turn (ring.hpp R1, A2). Each
// has a broken form that must be seen to go wrong, so that the test is known to look. (Relaxed stores and loads in the
// place of T5's read-modify-writes were not seen to miss each other on an H200, in 20 million pairs with noise.)
#define HIWAY_TEST_ON_GPU 1
#include <memory>
#include <random>
#include <thread>

#include "tests/device.hpp"

namespace {

using namespace hiway;

/// swapped: a put reads `closed` before it takes its ticket. relaxed: turns order nothing.
enum class Form { library, swapped, relaxed };

/// A word in a line of its own; pairs of them lie in buffers of their own, so that their ways through the caches
/// differ.
template <class T>
struct alignas(256) Apart {
  Word<T> word{0};
};

HIWAY_DEVICE unsigned scramble(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/// Stores and additions all over a large buffer, until `over` is `done`.
template <class Machine>
HIWAY_DEVICE void make_noise(Machine m, View<Word<std::uint32_t>> noise, Word<std::uint32_t>& over,
                             std::uint32_t done) {
  unsigned at = scramble(thread_index() + 1);
  while (m.load(over, MemoryOrder::relaxed) < done) {
    for (int i = 0; i < 16; ++i) {
      at = scramble(at + 1);
      Word<std::uint32_t>& word = noise[at % static_cast<unsigned>(noise.size)];
      if (at % 2 == 0) {
        m.store(word, at, MemoryOrder::relaxed);
      } else {
        m.fetch_add(word, 1u, MemoryOrder::relaxed);
      }
    }
  }
}

/// Lanes of blocks of even number put, those of odd number check: a pair meets, then both act at once, round after
/// round, on words that change from round to round. A word holds the last round in which its side has acted. The other
/// blocks make noise.
struct PutAgainstCheck {
  View<Apart<std::uint64_t>> claimed;
  View<Apart<std::uint32_t>> closed;
  View<Apart<std::uint32_t>> arrived;
  View<Apart<std::uint32_t>> seen;  ///< by each of the two
  View<Word<std::uint32_t>> noise;
  View<Word<std::uint64_t>> missed;
  Word<std::uint32_t>* over;
  std::uint32_t rounds;
  Form form;

  static constexpr unsigned pair_blocks = 64;
  static constexpr unsigned lanes = 32;
  static constexpr unsigned pairs = pair_blocks / 2 * lanes;
  static constexpr unsigned words_of_a_pair = 32;

  /// For less than `most` cycles, others in each round.
  template <class Machine>
  HIWAY_DEVICE void dawdle(Machine m, std::uint32_t round, std::uint32_t most) const {
    std::uint32_t const cycles = scramble(round * pair_blocks + block_index()) % most;
    for (std::uint32_t const begin = m.cycles(); m.cycles() - begin < cycles;) {
    }
  }
  template <class Machine>
  HIWAY_DEVICE void meet(Machine m, std::size_t pair, std::uint32_t times) const {
    m.fetch_add(arrived[pair].word, 1u, MemoryOrder::acq_rel);
    while (m.load(arrived[pair].word, MemoryOrder::acquire) < 2 * times) {
    }
  }
  HIWAY_DEVICE void operator()() const {
    on_this_device([&](auto m) {
      if (block_index() >= pair_blocks) return make_noise(m, noise, *over, pairs);
      bool const puts = block_index() % 2 == 0;
      std::size_t const pair = block_index() / 2 * lanes + m.lane();
      for (std::uint32_t r = 1; r <= rounds; ++r) {
        meet(m, pair, 2 * r - 1);
        dawdle(m, r, 256);  // either side is the later one now and then
        Word<std::uint64_t>& ticket = claimed[pair * words_of_a_pair + r % words_of_a_pair].word;
        Word<std::uint32_t>& shut = closed[pair * words_of_a_pair + scramble(r) % words_of_a_pair].word;
        bool saw = false;
        if (puts) {
          if (form == Form::swapped) {
            saw = m.load(shut, MemoryOrder::relaxed) == r;
            dawdle(m, r, 4096);  // at once the two are nearer to each other than the check's
          }
          m.fetch_add(ticket, std::uint64_t{1}, MemoryOrder::acquire);
          if (form == Form::library) saw = m.load(shut, MemoryOrder::relaxed) == r;
        } else {
          m.store(shut, r, MemoryOrder::release);
          m.fence_across();
          saw = m.fetch_add(ticket, std::uint64_t{0}, MemoryOrder::acq_rel) >
                (r - 1) / words_of_a_pair;  // earlier rounds' puts
        }
        m.store(seen[2 * pair + (puts ? 0 : 1)].word, saw ? 1u : 0u, MemoryOrder::relaxed);
        meet(m, pair, 2 * r);
        if (puts && !saw && m.load(seen[2 * pair + 1].word, MemoryOrder::relaxed) == 0)
          m.fetch_add(missed[0], std::uint64_t{1}, MemoryOrder::relaxed);
      }
      m.fetch_add(*over, puts ? 1u : 0u, MemoryOrder::relaxed);
    });
  }
};

template <class T>
Buffer<T>& zeros(Pipeline& pipe, std::size_t count) {
  return pipe.create_buffer<T>(std::vector<T>(count));
}
std::uint64_t value(Buffer<Word<std::uint64_t>>& buffer) {
  Word<std::uint64_t> count{0};
  buffer.copy_out(std::span<Word<std::uint64_t>>(&count, 1));
  return count.bits;
}

std::uint64_t missed_on_the_device(Form form) {
  using Test = PutAgainstCheck;
  Pipeline pipe(hiway_tests::bounded());
  auto& missed = zeros<Word<std::uint64_t>>(pipe, 1);
  std::size_t const words = std::size_t{Test::pairs} * Test::words_of_a_pair;
  Test const test{zeros<Apart<std::uint64_t>>(pipe, words).view(),
                  zeros<Apart<std::uint32_t>>(pipe, words).view(),
                  zeros<Apart<std::uint32_t>>(pipe, Test::pairs).view(),
                  zeros<Apart<std::uint32_t>>(pipe, 2 * Test::pairs).view(),
                  zeros<Word<std::uint32_t>>(pipe, std::size_t{1} << 24).view(),
                  missed.view(),
                  zeros<Word<std::uint32_t>>(pipe, 1).view().data,
                  20000,
                  form};
  pipe.launch("pairs", test, {.blocks = Test::pair_blocks + 64, .threads_per_block = Test::lanes});
  pipe.synchronize();
  return value(missed);
}

TEST(Litmus, APutAndTheCheckDoNotMissEachOtherOnTheDevice) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(missed_on_the_device(Form::library), 0u);  // of 20 million
  EXPECT_GT(missed_on_the_device(Form::swapped), 0u) << "or this test does not look";
}

// ---- across the bus: a CPU thread puts, the device checks -------------------------------------------------

struct alignas(128) BusPair {
  Word<std::uint64_t> claimed{0};
  alignas(64) Word<std::uint32_t> closed{0};
};
struct Rounds {
  alignas(128) Word<std::uint64_t> host{0};    ///< the round that the host is in
  alignas(128) Word<std::uint64_t> device{0};  ///< rounds that the device has finished
};

struct CheckAcross {
  BusPair* pairs;
  std::uint32_t* saw;
  Rounds* rounds;
  std::uint64_t count;
  HIWAY_DEVICE void operator()() const {
    on_this_device([&](auto m) {
      for (std::uint64_t i = 0; i < count; ++i) {
        while (m.load_across(rounds->host, MemoryOrder::acquire) <= i) {
        }
        BusPair& p = pairs[i];
        m.store_across(p.closed, 1u, MemoryOrder::release);
        m.fence_across();
        saw[i] = m.load_across(p.claimed, MemoryOrder::acquire) != 0 ? 1 : 0;
        m.store_across(rounds->device, i + 1, MemoryOrder::release);
      }
    });
  }
};

struct Release {
  Backend& backend;
  void operator()(void* address) const { backend.release(Memory::pinned, address); }
};
template <class T>
using Pinned = std::unique_ptr<T[], Release>;
template <class T>
Pinned<T> pinned(Backend& backend, std::size_t count) {
  auto* const memory = static_cast<T*>(backend.allocate(Memory::pinned, count * sizeof(T), "litmus"));
  std::uninitialized_value_construct_n(memory, count);
  return Pinned<T>(memory, Release{backend});
}

std::uint64_t missed_across(Form form, std::uint64_t count) {
  auto const backend = make_backend("cuda:0");
  auto const pairs = pinned<BusPair>(*backend, count);
  auto const saw = pinned<std::uint32_t>(*backend, count);
  auto const rounds = pinned<Rounds>(*backend, 1);
  using Body = LaunchBody<CheckAcross>;
  DeviceKernel const kernel = device_kernel<Body, ThisUnit>(Body{{pairs.get(), saw.get(), rounds.get(), count}});
  backend->reserve_streams(1);
  backend->prepare("check", kernel, {1, 1, 0}, Neighbours::own);
  auto const running = backend->start("check", kernel, {1, 1, 0});
  std::minstd_rand random(1);
  ThreadMachine const m;
  std::vector<std::uint32_t> closed(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    m.store(rounds[0].host, i + 1, MemoryOrder::release);
    hiway_tests::spin_for(std::chrono::nanoseconds(random() % 3000));
    if (form == Form::swapped) closed[i] = m.load(pairs[i].closed, MemoryOrder::relaxed);
    m.fetch_add(pairs[i].claimed, std::uint64_t{1}, MemoryOrder::acq_rel);
    if (form == Form::library) closed[i] = m.load(pairs[i].closed, MemoryOrder::relaxed);
    while (m.load(rounds[0].device, MemoryOrder::acquire) <= i) {
    }
  }
  while (!running->done()) {
  }
  std::uint64_t missed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    missed += closed[i] == 0 && saw[i] == 0 ? 1 : 0;
  }
  return missed;
}

TEST(Litmus, APutAndTheCheckDoNotMissEachOtherAcrossTheBus) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(missed_across(Form::library, 400000), 0u);
  EXPECT_GT(missed_across(Form::swapped, 400000), 0u) << "or this test does not look";
}

// ---- message passing: an item is whole for whoever acquires its turn -------------------------------------

constexpr unsigned words_per_item = 16;
struct alignas(64) Message {
  std::uint32_t words[words_per_item];
};

/// One side writes its slots lap after lap, the other reads them; turns lie apart from items, as in a ring. A reader's
/// free turn and the next lap's write are load buffering: who reads the next lap's words early has let them overtake.
/// neighbours: every second block writes. one_block: every second warp does.
enum class Apartness { neighbours, one_block };
struct PassMessages {
  View<Message> items;
  View<Word<std::uint32_t>> turns;
  View<Word<std::uint64_t>> torn;
  unsigned laps;
  Form form;
  Apartness apartness;
  HIWAY_DEVICE void operator()() const {
    unsigned const threads = thread_count() / block_count();
    unsigned const thread = thread_index() % threads;
    bool const pairs_are_blocks = apartness == Apartness::neighbours;
    std::size_t const slot = pairs_are_blocks ? block_index() / 2 * threads + thread
                                              : block_index() * (threads / 2) + thread / 64 * 32 + thread % 32;
    bool const writes = (pairs_are_blocks ? block_index() : thread / 32) % 2 == 0;
    Message& item = items[slot];
    on_this_device([&](auto m) {
      MemoryOrder const acquire = form == Form::library ? MemoryOrder::acquire : MemoryOrder::relaxed;
      MemoryOrder const release = form == Form::library ? MemoryOrder::release : MemoryOrder::relaxed;
      for (unsigned lap = 0; lap < laps; ++lap) {
        while (m.load(turns[slot], acquire) != 2 * lap + (writes ? 0 : 1)) {
        }
        if (writes) {
          for (unsigned w = 0; w < words_per_item; ++w) item.words[w] = lap + 1;
        } else {
          unsigned wrong = 0;
          for (unsigned w = 0; w < words_per_item; ++w) wrong += item.words[w] != lap + 1 ? 1 : 0;
          if (wrong != 0) m.fetch_add(torn[0], std::uint64_t{1}, MemoryOrder::relaxed);
        }
        m.store(turns[slot], 2 * lap + (writes ? 1 : 2), release);
      }
    });
  }
};

std::uint64_t torn_items(Form form, Apartness apartness) {
  Pipeline pipe(hiway_tests::bounded());
  constexpr unsigned blocks = 128;
  constexpr unsigned threads = 256;
  std::size_t const slots = std::size_t{blocks} / 2 * threads;
  auto& torn = zeros<Word<std::uint64_t>>(pipe, 1);
  pipe.launch("messages",
              PassMessages{zeros<Message>(pipe, slots).view(), zeros<Word<std::uint32_t>>(pipe, slots).view(),
                           torn.view(), 61200, form, apartness},
              {.blocks = blocks, .threads_per_block = threads});
  pipe.synchronize();
  return value(torn);
}

TEST(Litmus, AnItemIsWholeForWhoeverAcquiresItsTurn) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(torn_items(Form::library, Apartness::neighbours), 0u);  // of 10^9 items
  EXPECT_GT(torn_items(Form::relaxed, Apartness::neighbours), 0u) << "or this test does not look";
}
TEST(Litmus, AnItemIsWholeForAnotherWarpOfTheBlock) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_EQ(torn_items(Form::library, Apartness::one_block), 0u);  // of 10^9 items
}

// ---- the same across the bus: one CPU thread and one block, each slot in pinned memory ---------------------

struct PassAcross {
  Message* items;
  Word<std::uint32_t>* turns;
  View<Word<std::uint64_t>> torn;
  View<Word<std::uint32_t>> noise;
  Word<std::uint32_t>* over;
  unsigned laps;
  bool writes;  ///< the device does; else it reads
  static constexpr unsigned slots = 256;

  HIWAY_DEVICE void operator()() const {
    on_this_device([&](auto m) {
      if (block_index() != 0) return make_noise(m, noise, *over, slots);
      std::size_t const slot = m.thread_in_block();
      for (unsigned lap = 0; lap < laps; ++lap) {
        while (m.load_across(turns[slot], MemoryOrder::acquire) != 2 * lap + (writes ? 0 : 1)) {
        }
        unsigned wrong = 0;
        for (unsigned w = 0; w < words_per_item; ++w) {
          if (writes) {
            items[slot].words[w] = lap + 1;
          } else {
            wrong += items[slot].words[w] != lap + 1 ? 1 : 0;
          }
        }
        if (wrong != 0) m.fetch_add(torn[0], std::uint64_t{1}, MemoryOrder::relaxed);
        m.store_across(turns[slot], 2 * lap + (writes ? 1 : 2), MemoryOrder::release);
      }
      m.fetch_add(*over, 1u, MemoryOrder::relaxed);
    });
  }
};

/// swapped: the CPU thread sets the turn before it writes, or frees it before it reads.
std::uint64_t torn_across(Form form, bool device_writes) {
  using Test = PassAcross;
  Pipeline pipe(hiway_tests::bounded());
  auto const backend = make_backend("cuda:0");
  auto const items = pinned<Message>(*backend, Test::slots);
  auto const turns = pinned<Word<std::uint32_t>>(*backend, Test::slots);
  auto& torn = zeros<Word<std::uint64_t>>(pipe, 1);
  constexpr unsigned laps = 1500;
  pipe.launch("messages across",
              Test{items.get(), turns.get(), torn.view(), zeros<Word<std::uint32_t>>(pipe, std::size_t{1} << 24).view(),
                   zeros<Word<std::uint32_t>>(pipe, 1).view().data, laps, device_writes},
              {.blocks = 65, .threads_per_block = Test::slots});
  ThreadMachine const m;
  std::uint64_t wrong = 0;
  for (unsigned lap = 0; lap < laps; ++lap) {
    for (unsigned s = 0; s < Test::slots; ++s) {
      std::uint32_t const mine = 2 * lap + (device_writes ? 1 : 0);
      while (m.load(turns[s], MemoryOrder::acquire) != mine) {
      }
      if (form == Form::swapped) {
        m.store(turns[s], mine + 1, MemoryOrder::release);
        hiway_tests::spin_for(std::chrono::microseconds(2));  // the device sees it before the item: it looks
      }
      bool whole = true;
      for (std::uint32_t& word : items[s].words) {
        if (device_writes) {
          whole = whole && word == lap + 1;
        } else {
          word = lap + 1;
        }
      }
      wrong += whole ? 0 : 1;
      if (form == Form::library) m.store(turns[s], mine + 1, MemoryOrder::release);
    }
  }
  pipe.synchronize();
  return wrong + value(torn);
}

TEST(Litmus, AnItemIsWholeAcrossTheBus) {
  HIWAY_NEEDS_DEVICE();
  for (bool const device_writes : {false, true}) {
    EXPECT_EQ(torn_across(Form::library, device_writes), 0u);  // of 384,000 items
  }
  EXPECT_GT(torn_across(Form::swapped, false), 0u) << "or this test does not look";
}

}  // namespace
