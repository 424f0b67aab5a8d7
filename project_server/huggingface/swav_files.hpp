// The files beside the tensors of an exported SwAV: config.json and the script that measures it.
#pragma once

#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/norm_file.hpp"

namespace dedloc::huggingface {

/// The name of the network in torchvision.models that the trunk is: "resnet50"; empty if none is.
std::string torchvision_name(const formats::ResNetSpec& trunk);

/// config.json: trunk, head, pictures that it takes, and where the batch norms' statistics come
/// from. Requires a run that trains SwAV (aborts).
std::string write_swav_config(const formats::RunFile& run, const NormFile& norms);

/// evaluate_knn.py, which loads the exported folder that it is in.
const char* knn_script();

}  // namespace dedloc::huggingface
