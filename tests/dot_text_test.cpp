// Graphs that are put together from what several nodes have.
#include "lib/dot_text.hpp"

#include <gmock/gmock.h>

namespace {

using hiway::dot_of;
using hiway::dot_of_nodes;
using hiway::DotOfNode;

TEST(DotText, OfOnePartIsItsLines) {
  EXPECT_EQ(dot_of({.stages = "  \"a\";\n", .edges = "  \"a\" -> \"b\";\n"}),
            "digraph pipeline {\n  rankdir=LR;\n  \"a\";\n  \"a\" -> \"b\";\n}\n");
}

// An edge within a frame would draw what both frames share into one of them.
TEST(DotText, OfNodesHasStagesInFramesAndEdgesBetweenThem) {
  std::vector<DotOfNode> const nodes{{.part = {"  \"0: a\";\n", "  \"0: a\" -> \"t\";\n"}},
                                     {.part = {"  \"1: b\";\n", "  \"t\" -> \"1: b\";\n"}}};
  EXPECT_EQ(dot_of_nodes(nodes),
            "digraph pipeline {\n  rankdir=LR;\n"
            "  subgraph \"cluster node 0\" {\n  label=\"node 0\";\n  \"0: a\";\n  }\n"
            "  subgraph \"cluster node 1\" {\n  label=\"node 1\";\n  \"1: b\";\n  }\n"
            "  \"0: a\" -> \"t\";\n  \"t\" -> \"1: b\";\n}\n");
}

TEST(DotText, OfANodeThatIsMissingSaysWhy) {
  EXPECT_THAT(dot_of_nodes(std::vector<DotOfNode>{{}, {.missing = "it is gone"}}),
              testing::HasSubstr("label=\"node 1\";\n  \"node 1\" [label=\"it is gone\"];\n  }\n"));
}

}  // namespace
