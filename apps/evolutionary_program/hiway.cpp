// Method hiway: reproduce (CPU) -> evaluate (GPU) -> select (CPU) -> cross (CPU) -> mutate (GPU) -> reproduce, a creature at a
// time. An island waits for its last creature where it is sorted, and nowhere else: creatures are evaluated while others of
// their generation are still crossed, and while the other island is sorted.
//
// A creature crosses the bus whole where it has changed, on its way to mutate and back; both sides keep it, and evaluate and
// select are sent its name. New creatures go by way of mutate, too, which leaves them as they are.
#include <algorithm>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evolutionary_program/methods.hpp"

namespace evolutionary_program {

/// Which creature.
struct Name {
  std::uint32_t generation;
  std::uint32_t island;
  std::uint32_t number;  ///< of its island
};
struct Member {
  Name name;
  std::uint32_t is_new;  ///< made by reproduce
  Creature creature;
};
struct Evaluated {
  Name name;
  double fitness;
};

/// Where creatures wait to be sorted and crossed, on the CPU. Two generations: a creature of the next one may come while others
/// are still crossed; one of the next but one comes when all of the next one have been sorted, and so all others crossed.
struct Nursery {
  explicit Nursery(Problem const& problem)
      : of_island(problem.of_island()),
        creatures(std::size_t{2} * islands * of_island),
        ranks(creatures.size()),
        arrived(std::size_t{2} * islands) {}

  [[nodiscard]] std::size_t room(Name const& n) const { return n.generation % 2 * islands + n.island; }
  [[nodiscard]] std::size_t place(Name const& n) const { return room(n) * of_island + n.number; }
  /// Number `k` of the island as it was sorted.
  [[nodiscard]] Creature const& sorted(Name const& n, std::uint32_t k) const {
    std::size_t const first = room(n) * of_island;
    return creatures[first + ranks[first + k].number];
  }

  std::uint32_t of_island;
  std::vector<Creature> creatures;
  std::vector<Rank> ranks;
  std::vector<hiway::Word<std::uint32_t>> arrived;
};

/// Asks for the creatures that the islands lack.
struct Begin {
  Problem problem;
  void operator()(hiway::Inlet<Name> out) const {
    for (std::uint32_t island = 0; island < islands; ++island) {
      for (std::uint32_t number = 0; number < problem.of_island(); ++number) out.put_h({0, island, number});
    }
  }
};
/// Makes them; takes those that come back into their generation, or keeps them behind the last one.
struct Reproduce {
  Problem problem;
  Nursery* nursery;
  std::vector<Island>* finished;
  void operator()(hiway::Outlet<Name> lacking, hiway::Outlet<Member> changed, hiway::Inlet<Member> made,
                  hiway::Inlet<Name> whole) const {
    lacking.for_each_h([&](Name const& name) {
      made.put_in_place_h([&](Member& member) {
        member.name = name;
        member.is_new = 1;
        make_creature(member.creature);
      });
    });
    changed.for_each_h([&](Member const& member) {
      Name name = member.name;
      if (member.is_new == 0) ++name.generation;
      if (name.generation == problem.generations) {
        (*finished)[name.island][name.number] = member.creature;
        return;
      }
      nursery->creatures[nursery->place(name)] = member.creature;
      whole.put_h(name);
    });
  }
};

/// Where creatures are on the device: one of a place at a time, for who comes next has been crossed from those that were there.
struct Herd {
  Creature* creatures;
  std::uint32_t of_island;
  HIWAY_DEVICE double* parameters(Name const& n) const {
    return creatures[std::size_t{n.island} * of_island + n.number].parameters;
  }
};

/// A warp has one creature.
struct Evaluate {
  Herd herd;
  double const* coefficients;
  bool computes;
  HIWAY_DEVICE void operator()(hiway::Outlet<Name> in, hiway::Inlet<Evaluated> out) const {
    hiway::anywhere([&](auto m) {
      std::uint32_t const lanes = m.count(m.lanes());
      double* const terms = reinterpret_cast<double*>(hiway::shared_memory()) + m.thread_in_block() / lanes * genes;
      in.for_each_warp([&](Name const& name) {
        double const fitness = computes ? fitness_of(m, herd.parameters(name), coefficients, terms) : 0;
        if (m.lane() == 0) out.put({name, fitness});
      });
    });
  }
};

/// Whoever brings an island's last creature sorts it.
struct Select {
  Nursery* nursery;
  bool computes;
  void operator()(hiway::Outlet<Evaluated> in, hiway::Inlet<Name> out) const {
    std::vector<Name> names(nursery->of_island);
    in.for_each_h([&](Evaluated const& creature) {
      Name const name = creature.name;
      nursery->creatures[nursery->place(name)].fitness = creature.fitness;
      nursery->ranks[nursery->place(name)] = {creature.fitness, name.number};
      hiway::Word<std::uint32_t>& arrived = nursery->arrived[nursery->room(name)];
      bool const last = hiway::anywhere(
          [&](auto m) { return m.fetch_add(arrived, 1U, hiway::MemoryOrder::acq_rel) + 1 == nursery->of_island; });
      if (!last) return;
      arrived.bits = 0;  // for the next generation but one
      std::span<Rank> const ranks =
          std::span{nursery->ranks}.subspan(nursery->room(name) * nursery->of_island, nursery->of_island);
      if (computes) select(ranks);
      for (std::uint32_t k = 0; k < names.size(); ++k) names[k] = {name.generation, name.island, k};
      out.put_h(std::span<Name const>(names));
    });
  }
};

struct Cross {
  Problem problem;
  Nursery const* nursery;
  void operator()(hiway::Outlet<Name> in, hiway::Inlet<Member> out) const {
    in.for_each_h([&](Name const& name) {
      RandomStream const stream = stream_of(problem, name.generation, name.island, name.number);
      out.put_in_place_h([&](Member& child) {
        child.name = name;
        child.is_new = 0;
        cross(
            problem, nursery->sorted(name, name.number), stream,
            [&](std::uint32_t k) -> Creature const& { return nursery->sorted(name, k); }, child.creature);
      });
    });
  }
};

struct Mutate {
  Herd herd;
  bool computes;
  HIWAY_DEVICE void operator()(hiway::Outlet<Member> in, hiway::Inlet<Member> out) const {
    hiway::anywhere([&](auto m) {
      in.for_each_warp([&](Member const& member) {
        bool const changes = computes && member.is_new == 0;
        double* const kept = herd.parameters(member.name);
        out.put_in_place_warp([&](Member& next) {
          if (m.lane() == 0) {
            next.name = member.name;
            next.is_new = member.is_new;
            next.creature.fitness = member.creature.fitness;
          }
          for (std::uint32_t i = m.lane(); i < genes; i += m.count(m.lanes())) {
            double const gene = member.creature.parameters[i];
            double const after = changes ? mutated(gene, i, member.name.number) : gene;
            next.creature.parameters[i] = after;
            kept[i] = after;
          }
        });
      });
    });
  }
};

namespace {

class Evolution {
 public:
  Evolution(Problem const& problem, Job const& job)
      : problem_(problem), nursery_(problem), finished_(islands, Island(problem.of_island())), pipe_(job.pipeline()) {
    auto& coefficients = pipe_.create_buffer<double>(genes);
    coefficients.copy_in(make_coefficients());
    auto const all = job.scheme.tunnel({.capacity_items = problem.population});  // nobody waits for room
    using hiway::Direction;
    auto& lacking = pipe_.create_tunnel<Name>("lacking", Direction::cpu_to_cpu, job.scheme.tunnel());
    auto& whole = pipe_.create_tunnel<Name>("whole", Direction::cpu_to_gpu, all);
    auto& evaluated = pipe_.create_tunnel<Evaluated>("evaluated", Direction::gpu_to_cpu, all);
    auto& selected = pipe_.create_tunnel<Name>("selected", Direction::cpu_to_cpu, all);
    hiway::TunnelConfig to_mutate = all;
    // A warp reads a creature where it was written, sooner than a copy of it would be there.
    if (to_mutate.movement == hiway::Movement::automatic) to_mutate.movement = hiway::Movement::direct;
    auto& crossed = pipe_.create_tunnel<Member>("crossed", Direction::cpu_to_gpu, to_mutate);
    auto& mutated = pipe_.create_tunnel<Member>("mutated", Direction::gpu_to_cpu, all);
    Herd const herd{pipe_.create_buffer<Creature>(std::size_t{islands} * problem.of_island()).view().data,
                    problem.of_island()};
    bool const emulated = job.device == "simt";
    auto const grid = [&](unsigned blocks) {
      unsigned const warps = emulated ? 1 : 4;
      return hiway::GpuStageOptions{.blocks = emulated ? 1U : blocks,
                                    .threads_per_block = 32 * warps,
                                    .shared_bytes = warps * genes * sizeof(double)};
    };
    // Three are left to the library's monitors and to begin. Crossing is most of the work, then taking creatures home.
    unsigned const threads = std::max(6U, hiway::available_cpus()) - 3;
    unsigned const takers = threads * 2 / 5;
    using hiway::from;
    using hiway::into;
    pipe_.add_cpu_stage("begin", Begin{problem}, into(lacking));
    pipe_.add_cpu_stage("reproduce", Reproduce{problem, &nursery_, &finished_}, from(lacking, mutated),
                        into(crossed, whole), {.threads = takers});
    pipe_.add_gpu_stage("evaluate", Evaluate{herd, coefficients.view().data, problem.computes}, from(whole),
                        into(evaluated), grid(256));
    pipe_.add_cpu_stage("select", Select{&nursery_, problem.computes}, from(evaluated), into(selected), {.threads = 1});
    pipe_.add_cpu_stage("cross", Cross{problem, &nursery_}, from(selected), into(crossed),
                        {.threads = threads - takers - 1});
    pipe_.add_gpu_stage("mutate", Mutate{herd, problem.computes}, from(crossed), into(mutated), grid(64));
  }
  Evolution(Evolution const&) = delete;
  Evolution& operator=(Evolution const&) = delete;

  void prepare() { pipe_.prepare(); }
  Measurement run() {
    hiway::RunReport report = pipe_.run();
    Measurement measured;
    measured.summary = summarize(finished_);
    cli::take_report(measured, std::move(report));
    return measured;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  Problem problem_;
  Nursery nursery_;
  std::vector<Island> finished_;
  hiway::Pipeline pipe_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job) {
  Evolution evolution{problem, job};
  evolution.prepare();
  return cli::repeated(job, [&] { return evolution.run(); });
}

std::string hiway_graph(std::string const& device) { return Evolution{{}, {.device = device}}.graph(); }

}  // namespace evolutionary_program
