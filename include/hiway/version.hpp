// hiway's version.
#pragma once

#define HIWAY_VERSION_MAJOR 0
#define HIWAY_VERSION_MINOR 1
#define HIWAY_VERSION_PATCH 0
