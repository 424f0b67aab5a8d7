// The modules of tests/boinc_app/fixtures/modules, which make_module_fixtures.py there has written.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "boinc_app/module/samples.hpp"
#include "boinc_app/module/script_module.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/tensor_shard.hpp"

namespace dedloc::test {

/// A file of the folder.
inline Buffer module_fixture(const std::string& name) {
    std::ifstream file{std::string{DEDLOC_FIXTURES} + "/modules/" + name, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto bytes = bytes_of(text);
    return {bytes.begin(), bytes.end()};
}

inline std::vector<float> floats_fixture(const std::string& name) {
    const Buffer bytes = module_fixture(name);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

/// A shard of the folder, or the inputs of the hostile modules: 3 samples of 4 numbers.
inline formats::TensorShard shard_fixture(const std::string& name) {
    return formats::decode_tensor_shard(module_fixture(name)).value();
}

/// All samples of a shard in their order.
inline std::vector<training::module::InputTensor> inputs_of(const formats::TensorShard& shard) {
    std::vector<training::module::InputTensor> inputs;
    for (std::size_t i = 0; i < shard.specs.size(); ++i) {
        auto& input = inputs.emplace_back();
        input.type = shard.specs[i].type;
        input.shape = {shard.samples};
        input.shape.insert(input.shape.end(), shard.specs[i].shape.begin(),
                           shard.specs[i].shape.end());
        input.bytes.assign(shard.arrays[i].begin(), shard.arrays[i].end());
    }
    return inputs;
}

/// Inputs of the hostile modules: float32 [samples, 4], all ones.
inline std::vector<training::module::InputTensor> ones(std::uint64_t samples) {
    std::vector<training::module::InputTensor> inputs(1);
    inputs[0].shape = {samples, 4};
    inputs[0].bytes.resize(samples * 4 * sizeof(float));
    const std::vector<float> values(samples * 4, 1.0f);
    std::memcpy(inputs[0].bytes.data(), values.data(), inputs[0].bytes.size());
    return inputs;
}

/// A loaded module on parameters of its own.
struct BoundModule {
    explicit BoundModule(const std::string& name, const training::module::Bounds& bounds = {})
        : file(module_fixture(name)), loaded(file, bounds) {
        for (const auto& parameter : loaded.parameters()) {
            formats::TensorSpec& tensor = run.tensors.emplace_back();
            tensor.name = parameter.name;
            tensor.shape = parameter.shape;
            const bool is_matrix = tensor.shape.size() >= 2;
            if (is_matrix) {
                tensor.initial = formats::Initial::kNormal;
                tensor.deviation = 0.1;
            } else if (tensor.name.ends_with("weight")) {
                tensor.initial = formats::Initial::kOne;
            }
        }
        offsets = formats::tensor_offsets(run);
        parameters.resize(formats::element_count(run));
        sum.resize(parameters.size());
        loaded.copy_parameters(offsets, parameters);
        loaded.bind(offsets, parameters);
    }

    const Buffer file;
    formats::RunFile run;
    training::module::ScriptModule loaded;
    std::vector<std::uint64_t> offsets;
    AlignedFloats parameters;
    std::vector<float> sum;
};

}  // namespace dedloc::test
