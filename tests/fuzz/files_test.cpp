// Files of every format, changed at random: each is read, or refused in one line; none takes long or much memory.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bfs/input.hpp"
#include "cli/bottleneck.hpp"
#include "cli/report.hpp"
#include "cli/trace_file.hpp"
#include "face_detection/cascade.hpp"
#include "face_detection/image.hpp"
#include "genome/fasta.hpp"
#include "hiway/plan/plan.hpp"
#include "hiway/plan/segment.hpp"
#include "hiway/plan/symbolic.hpp"
#include "lib/movement_table.hpp"
#include "pagerank/problem.hpp"
#include "picture/picture.hpp"
#include "rasterization/model.hpp"
#include "reyes/scene.hpp"
#include "taxi/input.hpp"
#include "taxi/methods.hpp"
#include "tests/apps/files.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/outcome.hpp"

namespace hiway_tests {
namespace {

using Seeds = std::vector<std::string>;

class Fuzz : public Files {
 protected:
  /// `read` takes a file's path; the file stays, so that a crash can be looked into.
  void files(std::string const& name, Seeds const& seeds, std::function<void(std::string const& path)> const& read) {
    Outcomes outcomes{name};
    outcomes.each([&](std::uint64_t seed) { read(plain("input", Mutation{seed}.of(seeds))); });
  }
  void texts(std::string const& name, Seeds const& seeds, std::function<void(std::string const& text)> const& read) {
    Outcomes outcomes{name};
    outcomes.each([&](std::uint64_t seed) { read(Mutation{seed}.of(seeds)); });
  }

  std::string zipped(std::string const& content) const {
    std::string const file = path("zipped");
    gzFile zip = gzopen(file.c_str(), "wb");
    gzwrite(zip, content.data(), static_cast<unsigned>(content.size()));
    gzclose(zip);
    std::ifstream bytes{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{bytes}, {}};
  }
};

TEST_F(Fuzz, Fasta) {
  std::string const fasta = ">chr1 a name\nACGTNACGTACGT\nacgtn\n\n>chr2\nGGGG\n>empty\n";
  Seeds const seeds{fasta, zipped(fasta), "@read 1\nACGT\n+\nII#I\n@read 2\nTTTT\n+\nIIII\n", "ACGTN\nACGTACGTACGT\n"};
  files("FASTA, FASTQ, pairs", seeds, [](std::string const& path) {
    try {
      (void)genome::read_pair(path);
    } catch (cli::BadInput const& error) {
      EXPECT_TRUE(is_one_line(error.what())) << error.what();
    }
    std::vector<std::string> notes;
    (void)genome::read_first_record(path, notes);
    for (std::string const& note : notes) EXPECT_TRUE(is_one_line(note)) << note;
  });
}

TEST_F(Fuzz, Obj) {
  Seeds const seeds{
      "# a cube's side\nmtllib x.mtl\nv 0 0 0\nv 1 0 0 1.0\nv 1 1.5 0\nv -1e-3 +1 0 1 0 .5\nvt 0 0\nvn 0 0 1\n"
      "usemtl red\nf 1/1/1 2//1 3 4/1 # bottom\nf -1 -2 \\\n -3\ncurv 0 1 1 2\n"};
  files("OBJ", seeds, [](std::string const& path) {
    std::vector<std::string> notes;
    (void)rasterization::read_obj(path, notes);
    for (std::string const& note : notes) EXPECT_TRUE(is_one_line(note)) << note;
  });
}

TEST_F(Fuzz, Bbp) {
  std::string text = "BBP\n";
  for (int i = 0; i < 96; ++i) text += std::to_string(i % 7) + (i % 3 == 2 ? "\n" : ".25 ");
  files("BBP", {text}, [](std::string const& path) { (void)reyes::placed(reyes::read_patches(path)); });
}

TEST_F(Fuzz, Dimacs) {
  std::string const streets = "c streets\np sp 4 3\na 1 2 17\na 2 4 1.5\na 4 1 0\n";
  files("DIMACS", {streets, zipped(streets)}, [](std::string const& path) { (void)bfs::read_dimacs(path); });
}

TEST_F(Fuzz, Matrix) {
  std::string const matrix = "4 3\n0 2 3 4\n1 2 2 0\n1 0.5 0.5 1\n";
  files("matrix", {matrix, zipped(matrix)}, [](std::string const& path) { (void)pagerank::read_problem(path); });
}

TEST_F(Fuzz, Pnm) {
  Seeds const seeds{"P5\n# grey\n4 3\n255\nabcdefghijkl", "P6 2 2 255\nabcdefghijkl", "P5\r\n2 2\r\n255\r\nabcd"};
  files("PNM", seeds, [](std::string const& path) {
    (void)face_detection::read_samples(path);
    (void)face_detection::read_image(path);
  });
}

TEST_F(Fuzz, Png) {
  picture::Picture picture{9, 5, {}};
  for (int i = 0; i < 9 * 5 * 3; ++i) picture.rgb.push_back(static_cast<std::uint8_t>(i * i));
  std::string const png = picture::encode_png(picture);
  // With right checksums, too: else libpng sees none of it.
  auto const mended = [](std::string text) {
    auto const number = [&](std::size_t at) {
      std::uint32_t n = 0;
      for (std::size_t i = 0; i < 4; ++i) n = n << 8 | static_cast<std::uint8_t>(text[at + i]);
      return n;
    };
    for (std::size_t at = 8; at + 12 <= text.size();) {
      std::size_t const length = number(at);
      if (length > text.size() - at - 12) break;
      auto const sum = crc32_z(0, reinterpret_cast<Bytef const*>(text.data()) + at + 4, length + 4);
      for (std::size_t i = 0; i < 4; ++i) text[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
      at += length + 12;
    }
    return text;
  };
  Outcomes outcomes{"PNG"};
  outcomes.each([&](std::uint64_t seed) {
    std::string const mutated = Mutation{seed}.of({png});
    (void)face_detection::read_image(plain("input", seed % 4 == 0 ? mutated : mended(mutated)));
  });
}

TEST_F(Fuzz, Cascade) {
  Seeds const seeds{R"(<?xml version="1.0"?>
<opencv_storage><cascade type_id="opencv-cascade-classifier">
  <stageType>BOOST</stageType><featureType>LBP</featureType>
  <height>24</height><width>24</width>
  <featureParams><maxCatCount>256</maxCatCount></featureParams>
  <stageNum>1</stageNum>
  <stages><!-- stage 0 -->
    <_><maxWeakCount>1</maxWeakCount><stageThreshold>-0.75</stageThreshold>
      <weakClassifiers>
        <_><internalNodes>0 -1 0 -67130709 -21569 -1426120013 -1275125205 -21585 -16385 587145899 -24005</internalNodes>
          <leafValues>-0.65 0.88</leafValues></_></weakClassifiers></_></stages>
  <features><_><rect>0 0 8 8</rect></_></features></cascade>
</opencv_storage>
)"};
  files("cascade XML", seeds, [](std::string const& path) { (void)face_detection::read_cascade(path); });
}

TEST_F(Fuzz, Csv) {
  files("CSV", {taxi::generated_trips(3, 1)},
        [](std::string const& path) { (void)taxi::reference_conversion(taxi::make_input({.file = path}), 1); });
}

TEST_F(Fuzz, MovementTable) {
  std::string rows;
  for (char const* direction : {"cpu_to_gpu", "gpu_to_cpu"}) {
    for (char const* bus : {"one_way", "both_ways"})
      rows += std::string{rows.empty() ? "" : ",\n"} + "{\"direction\": \"" + direction + "\", \"bus\": \"" + bus +
              "\", \"up_to_bytes\": 65536, \"movement\": \"dma\", \"because\": \"measured \\u00e9\"}";
  }
  texts("movement table", {"{\"measured\": {\"on\": [1.5e3, true, null]}, \"rows\": [\n" + rows + "\n]}\n"},
        [](std::string const& text) { (void)hiway::MovementTable{"t", text}; });
}

TEST_F(Fuzz, Plan) {
  using namespace hiway::plan;
  Seeds seeds{R"({"segment": {"v": 128, "nodes": [
   {"name": "spread", "gain_max": 20, "gain_mean": 4, "item_bytes": 8, "interruptible": false},
   {"name": "keep", "gain_max": 1, "gain_mean": 0.25, "item_bytes": 8}]}})",
              R"json({"params": {"N": 4}, "semantics": {"discipline": "fifo", "leftover": "drop"},
 "streams": [{"name": "s", "elem_bytes": 4, "dims": ["N"], "initial": 1}],
 "body": [{"for": "i", "from": 0, "to": "N - 1", "step": 1, "body": [
   {"if": "i % 2 == 0 and not (i > 3 || !i)", "then": [
     {"task": "t", "process": "p", "cost": "1 + i", "ops": [
       {"stream": "s", "index": "i", "read": 1, "horizon": 1},
       {"stream": "s", "index": ["i + 1"], "write": 2}, {"stream": "s", "index": 0, "peek": 1}]}], "else": []}]
}]
})json"};
  for (char const* name : {"global_surface", "sink_first", "two_writes_four_reads", "borders"}) {
    std::ifstream file{std::filesystem::path{HIWAY_SOURCE_DIR} / "examples/plan" / (std::string{name} + ".json")};
    seeds.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  Outcomes outcomes{"plan"};
  outcomes.each([&](std::uint64_t seed) {
    std::string const text = Mutation{seed}.of(seeds);
    if (auto const segment = read_segment(text)) return void(plan_segment(*segment, {}));
    Program const program = read_program(text);
    (void)make_plan(program, {.max_states = 1000, .max_steps = 1'000'000});
    if (seed % 16 == 0 && program.params.contains("N"))
      (void)make_symbolic_plan(program, {.symbols = {"N"}, .degree = 1});
  });
}

TEST_F(Fuzz, Trace) {
  Seeds const seeds{R"({"traceEvents": [
{"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "stage 'feed', thread 0"}},
{"ph": "X", "pid": 1, "tid": 1, "cat": "stage", "name": "feed", "ts": 0, "dur": 900000},
{"ph": "X", "pid": 1, "tid": 1, "cat": "put", "name": "waits", "ts": 100.5, "dur": 2000, "args": {"tunnel": "a"}},
{"ph": "X", "pid": 2, "tid": 1, "cat": "device", "name": "work", "ts": 10, "dur": 5000, "args": {"blocks": 4}},
{"ph": "X", "pid": 4, "tid": 1, "cat": "dma", "name": "copies", "ts": 10, "dur": 50, "args": {"bytes": 4096}},
{"ph": "C", "pid": 3, "tid": 0, "name": "a", "ts": 1000, "args": {"items": 12, "spilled": 0}},
{"ph": "i", "pid": 5, "tid": 1, "cat": "stall", "name": "stall", "ts": 300000, "args": {"text": "no progress"}},
{"ph": "X", "pid": 5, "tid": 1, "cat": "run", "name": "run", "ts": 0, "dur": 1000000},
{"ph": "X", "pid": 5, "tid": 1, "cat": "end", "name": "end detection", "ts": 995000, "dur": 5000}],
"hiway": {"version": "0.1.0", "trace_version": 1, "error": "stage 'feed': \u00e9", "stats": {
 "device": "simt", "seconds": 1, "items": 1000, "end_detection_us": 12.5,
 "stages": [
  {"name": "feed", "gpu": false, "executors": 1, "items": 1000, "seconds": 1.0, "busy": 0.1, "from": [],
   "into": [{"tunnel": "a", "waits": 0.9}]},
  {"name": "work", "gpu": true, "executors": 32, "items": 1000, "seconds": 32.0, "busy": 0.97,
   "from": [{"tunnel": "a", "waits": -1}], "into": []}],
 "tunnels": [
  {"name": "a", "direction": "cpu_to_gpu", "movement": "dma", "why": "asked for", "item_bytes": 4, "capacity_items": 64,
   "items": 1000, "finished": 1000, "bytes": 4000, "batches": 3, "spilled": 0, "throttled": 0, "put_groups": 0,
   "get_groups": 0, "most_items": 64, "mean_items": 60.5, "full": 0.9, "empty": 0.01}]}}}
)"};
  files("trace", seeds, [](std::string const& path) {
    cli::TraceFile const trace = cli::read_trace(path);
    (void)cli::find_bottleneck(trace.stats);
    (void)cli::to_html(trace, "t.json");
  });
}

// The checker's own test: it finds what it is there for.
TEST(FuzzOutcome, FindsWhatIsNoRefusalInOneLine) {
  static auto const plant = [](std::function<void(std::uint64_t)> const& read) { Outcomes{"planted"}.one(read, 1); };
  plant([](std::uint64_t) { throw cli::BadInput{"a.obj: line 3: x"}; });
  EXPECT_NONFATAL_FAILURE(plant([](std::uint64_t) { throw cli::BadInput{"two\nlines"}; }), "not one line");
  EXPECT_NONFATAL_FAILURE(plant([](std::uint64_t) { throw hiway::ConfigError{""}; }), "not one line");
  EXPECT_NONFATAL_FAILURE(plant([](std::uint64_t) { throw std::length_error{"vector"}; }), "no refusal");
#ifndef HIWAY_SANITIZED
  LittleMemory const little;
  EXPECT_NONFATAL_FAILURE(plant([](std::uint64_t) { std::vector<char>(std::size_t{2} << 30).back() = 1; }),
                          "bad_alloc");
#endif
}

TEST(FuzzMutation, IsTheSameForTheSameSeed) {
  Seeds const seeds{"abc 12\ndef\n", "34,56\n"};
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    EXPECT_EQ(Mutation{seed}.of(seeds), Mutation{seed}.of(seeds));
    all.insert(Mutation{seed}.of(seeds));
  }
  EXPECT_GT(all.size(), 50U);
}

}  // namespace
}  // namespace hiway_tests
