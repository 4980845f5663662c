// The stages of random pipelines whose items have 4096 bytes.
#include "tests/soak/random_stages.hpp"

template std::unique_ptr<hiway_tests::RandomPipeline> hiway_tests::build_of<4096>(hiway_tests::PipelineSpec const&,
                                                                                  hiway::PipelineConfig const&);
