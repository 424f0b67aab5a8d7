#include "project_server/huggingface/swav_files.hpp"

#include <fmt/format.h>

#include <array>
#include <variant>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/formats/evaluation_crop.hpp"
#include "peer/formats/swav_layout.hpp"
#include "project_server/huggingface/knn_script.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::huggingface {
namespace {

template <class T>
json::Value list_of(const T& values) {
    return json::Value::List(values.begin(), values.end());
}

}  // namespace

std::string torchvision_name(const formats::ResNetSpec& trunk) {
    struct Known {
        const char* name;
        bool has_bottlenecks;
        std::vector<std::uint64_t> blocks;
    };
    static const std::array<Known, 5> kKnown{{{"resnet18", false, {2, 2, 2, 2}},
                                              {"resnet34", false, {3, 4, 6, 3}},
                                              {"resnet50", true, {3, 4, 6, 3}},
                                              {"resnet101", true, {3, 4, 23, 3}},
                                              {"resnet152", true, {3, 8, 36, 3}}}};
    if (trunk.width != 64 || trunk.has_small_stem) return {};
    for (const Known& known : kKnown) {
        if (known.has_bottlenecks == trunk.has_bottlenecks && known.blocks == trunk.blocks) {
            return known.name;
        }
    }
    return {};
}

std::string write_swav_config(const formats::RunFile& run, const NormFile& norms) {
    const auto* const task = std::get_if<formats::SwavSpec>(&run.model);
    DEDLOC_CHECK(task != nullptr, "the run trains no SwAV");
    const formats::EvaluationCrop crop = formats::evaluation_crop(*task);
    json::Value trunk;
    trunk.set("block", task->trunk.has_bottlenecks ? "bottleneck" : "basic")
        .set("blocks", list_of(task->trunk.blocks))
        .set("width", task->trunk.width)
        .set("small_stem", task->trunk.has_small_stem);
    json::Value input;
    input.set("shorter_side", crop.shorter_side)
        .set("size", crop.size)
        .set("mean", list_of(task->colours.mean))
        .set("deviation", list_of(task->colours.deviation));
    json::Value head;
    head.set("hidden", task->hidden)
        .set("projection", task->projection)
        .set("prototypes", task->prototypes);
    json::Value batch_norm;
    batch_norm.set("epsilon", 1e-5)
        .set("pictures", norms.pictures)
        .set("batch", norms.batch)
        .set("list", norms.list.hex());
    json::Value data;
    data.set("model_type", "swav");
    if (const auto name = torchvision_name(task->trunk); !name.empty()) {
        data.set("torchvision", name);
    }
    data.set("trunk", std::move(trunk))
        .set("features", formats::feature_count(task->trunk))
        .set("input", std::move(input))
        .set("head", std::move(head))
        .set("batch_norm", std::move(batch_norm))
        .set("run", run.name)
        .set("run_id", formats::run_id(run).hex())
        .set("step", norms.step.value())
        .set("state", norms.state.hex());
    return json::write_pretty(data, 2) + "\n";
}

const char* knn_script() {
    return kKnnScript;
}

}  // namespace dedloc::huggingface
