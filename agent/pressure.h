// What of the configuration the eviction of pods and the collection of images are made of.
#pragma once

#include "agent/config/config.h"
#include "agent/eviction/evictor.h"
#include "agent/images/collection_plan.h"

namespace podwright {

eviction::Options eviction_options(const config::Config& config);
images::CollectionOptions image_collection_options(const config::Config& config);

}  // namespace podwright
