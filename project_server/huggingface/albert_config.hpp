// config.json of a Hugging Face model folder, for AlbertForPreTraining.
#pragma once

#include <string>
#include <string_view>

#include "peer/formats/run_file.hpp"

namespace dedloc::huggingface {

/// config.json of the run's model.
std::string write_albert_config(const formats::RunFile& run);

/// Reads config.json, untrusted. Fields that training does not use (tasks, versions) are ignored;
/// absent ones have the values that AlbertConfig gives them.
/// Errors   InputError in one sentence: no ALBERT, or one that no run can train (another
///          activation, several groups of layers, another epsilon, untied decoder)
formats::AlbertSpec read_albert_config(const std::string& document, std::string_view json);

}  // namespace dedloc::huggingface
