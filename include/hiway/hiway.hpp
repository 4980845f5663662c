// hiway: pipelines whose stages run at the same time on CPU threads and inside persistent GPU kernels. Include this.
#pragma once
#include "hiway/batch.hpp"
#include "hiway/config.hpp"
#include "hiway/cpus.hpp"
#include "hiway/error.hpp"
#include "hiway/log.hpp"
#include "hiway/output_file.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/report.hpp"
#include "hiway/segment/compose.hpp"
#include "hiway/segment/segment.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "hiway/version.hpp"
