// Everything follows from the list of convolutions: tensors, operations, and what autograd saves.
// Changing the order, a name or a start value changes the initial state and so the id of every new
// run.
#include "peer/formats/swav_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dedloc::formats {
namespace {

/// Output channels of a bottleneck block for each of its 3×3 convolution.
constexpr std::uint64_t kExpansion = 4;

/// Adds the blocks of a trunk one after the other.
class TrunkPlan {
  public:
    explicit TrunkPlan(const ResNetSpec& trunk) : has_bottlenecks_(trunk.has_bottlenecks) {
        const std::uint64_t kernel = trunk.has_small_stem ? 3 : 7;
        const std::uint64_t stride = trunk.has_small_stem ? 1 : 2;
        add("conv1", "bn1", {3, trunk.width}, kernel, stride, ConvolutionRole::kStem);
        channels_ = trunk.width;
        reduction_ = trunk.has_small_stem ? 1 : 4;  // the max-pool too
        std::uint64_t width = trunk.width;
        for (std::size_t stage = 0; stage < trunk.blocks.size(); ++stage, width *= 2) {
            for (std::uint64_t block = 0; block < trunk.blocks[stage]; ++block) {
                add_block(fmt::format("layer{}.{}.", stage + 1, block), width,
                          stage > 0 && block == 0 ? 2 : 1);
            }
        }
    }
    std::vector<Convolution> finish() && { return std::move(list_); }

  private:
    struct Channels {
        std::uint64_t inputs;
        std::uint64_t outputs;
    };

    void add(const std::string& name, const std::string& norm, Channels channels,
             std::uint64_t kernel, std::uint64_t stride, ConvolutionRole role) {
        list_.push_back({.name = name,
                         .norm = norm,
                         .inputs = channels.inputs,
                         .outputs = channels.outputs,
                         .kernel = kernel,
                         .stride = stride,
                         .reduction = reduction_ * stride,
                         .role = role});
    }

    void add_block(const std::string& prefix, std::uint64_t width, std::uint64_t stride) {
        const std::uint64_t outputs = has_bottlenecks_ ? kExpansion * width : width;
        const std::uint64_t before = reduction_;
        const auto part = [&](int number, Channels channels, std::uint64_t kernel,
                              std::uint64_t step) {
            const bool is_last = number == (has_bottlenecks_ ? 3 : 2);
            add(fmt::format("{}conv{}", prefix, number), fmt::format("{}bn{}", prefix, number),
                channels, kernel, step, is_last ? ConvolutionRole::kLast : ConvolutionRole::kInner);
            reduction_ *= step;
        };
        if (has_bottlenecks_) {
            part(1, {channels_, width}, 1, 1);
            part(2, {width, width}, 3, stride);
            part(3, {width, outputs}, 1, 1);
        } else {
            part(1, {channels_, width}, 3, stride);
            part(2, {width, width}, 3, 1);
        }
        if (stride != 1 || channels_ != outputs) {
            reduction_ = before;
            add(prefix + "downsample.0", prefix + "downsample.1", {channels_, outputs}, 1, stride,
                ConvolutionRole::kShortcut);
        }
        reduction_ = before * stride;
        channels_ = outputs;
    }

    const bool has_bottlenecks_;
    std::uint64_t channels_ = 3;
    std::uint64_t reduction_ = 1;
    std::vector<Convolution> list_;
};

class SwavLayout {
  public:
    void convolution(const Convolution& map) {
        const auto fan_out = static_cast<double>(map.outputs * map.kernel * map.kernel);
        add(map.name + ".weight", {map.outputs, map.inputs, map.kernel, map.kernel},
            Initial::kNormal, std::sqrt(2 / fan_out));
        norm(map.norm, map.outputs);
    }
    void norm(const std::string& name, std::uint64_t count) {
        add(name + ".weight", {count}, Initial::kOne, 0);
        add(name + ".bias", {count}, Initial::kZero, 0);
    }
    void linear(const std::string& name, std::uint64_t outputs, std::uint64_t inputs) {
        matrix(name, outputs, inputs);
        add(name + ".bias", {outputs}, Initial::kNormal, deviation(inputs));
    }
    void matrix(const std::string& name, std::uint64_t outputs, std::uint64_t inputs) {
        add(name + ".weight", {outputs, inputs}, Initial::kNormal, deviation(inputs));
    }
    std::vector<TensorSpec> finish() && { return std::move(tensors_); }

  private:
    static double deviation(std::uint64_t inputs) {
        return 1 / std::sqrt(3 * static_cast<double>(inputs));
    }
    void add(const std::string& name, std::vector<std::uint64_t> shape, Initial initial,
             double deviation) {
        tensors_.push_back({.name = name,
                            .shape = std::move(shape),
                            .initial = initial,
                            .deviation = deviation,
                            .decays = true});
    }

    std::vector<TensorSpec> tensors_;
};

std::uint64_t pixels_of(const Convolution& map, std::uint64_t size) {
    const std::uint64_t side = (size + map.reduction - 1) / map.reduction;
    return side * side;
}

/// Reports the first field that is out of its range.
class Ranges {
  public:
    void whole(const std::string& name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
        if (value < min || value > max) {
            report(fmt::format("{} is {}, but must be from {} to {}", name, value, min, max));
        }
    }
    /// Also refuses NaN.
    void real(const std::string& name, double value, double min, double max) {
        if (!(value >= min && value <= max)) {
            report(fmt::format("{} is {}, but must be from {} to {}", name, value, min, max));
        }
    }
    void report(const std::string& sentence) {
        if (!first_) first_ = sentence;
    }
    std::optional<std::string> first() && { return std::move(first_); }

  private:
    std::optional<std::string> first_;
};

void check_trunk(const ResNetSpec& trunk, Ranges& ranges) {
    ranges.whole("the number of stages in trunk.blocks", trunk.blocks.size(), 1, 4);
    for (const std::uint64_t count : trunk.blocks) ranges.whole("trunk.blocks", count, 1, 64);
    ranges.whole("trunk.width", trunk.width, 1, 1'024);
}

void check_crops(const std::vector<CropSpec>& crops, Ranges& ranges) {
    ranges.whole("the number of sizes in crops", crops.size(), 1, 8);
    for (const CropSpec& crop : crops) {
        ranges.whole("crops.size", crop.size, 8, 1'024);
        ranges.whole("crops.count", crop.count, 1, 16);
        ranges.real("crops.min_area", crop.min_area, 1e-4, 1);
        ranges.real("crops.max_area", crop.max_area, crop.min_area, 1);
    }
    if (!crops.empty() && crops.front().count < 2) {
        ranges.report("crops.count of the first size is 1, but assignments need at least 2 crops");
    }
}

void check_colours(const ColourSpec& colours, Ranges& ranges) {
    ranges.real("colours.brightness", colours.brightness, 0, 10);
    ranges.real("colours.contrast", colours.contrast, 0, 10);
    ranges.real("colours.saturation", colours.saturation, 0, 10);
    ranges.real("colours.hue", colours.hue, 0, 0.5);
    ranges.real("colours.jitter", colours.jitter, 0, 1);
    ranges.real("colours.gray", colours.gray, 0, 1);
    ranges.real("colours.blur", colours.blur, 0, 1);
    ranges.real("colours.min_radius", colours.min_radius, 0, 100);
    ranges.real("colours.max_radius", colours.max_radius, colours.min_radius, 100);
    for (std::size_t i = 0; i < colours.mean.size(); ++i) {
        ranges.real("colours.mean", colours.mean[i], 0, 1);
        ranges.real("colours.deviation", colours.deviation[i], 1e-3, 1);
    }
}

std::uint64_t weights_of(const Convolution& map) {
    return map.outputs * map.inputs * map.kernel * map.kernel;
}

/// Weights of the projection's linear maps, without biases.
std::uint64_t head_weights(const SwavSpec& task) {
    const std::uint64_t features = feature_count(task.trunk);
    return task.hidden > 0 ? task.hidden * (features + task.projection)
                           : features * task.projection;
}

/// Multiply-adds of the projection and the prototypes for a crop.
double head_products(const SwavSpec& task) {
    return static_cast<double>(head_weights(task)) +
           static_cast<double>(task.projection) * static_cast<double>(task.prototypes);
}

}  // namespace

std::vector<Convolution> convolutions(const ResNetSpec& trunk) {
    return TrunkPlan{trunk}.finish();
}

std::uint64_t feature_count(const ResNetSpec& trunk) {
    const std::uint64_t last = trunk.width << (trunk.blocks.size() - 1);
    return trunk.has_bottlenecks ? kExpansion * last : last;
}

std::optional<std::string> fault_of(const SwavSpec& task) {
    Ranges ranges;
    check_trunk(task.trunk, ranges);
    ranges.whole("hidden", task.hidden, 0, 65'536);
    ranges.whole("projection", task.projection, 2, 65'536);
    ranges.whole("prototypes", task.prototypes, 2, kMaxUnitRows);
    check_crops(task.crops, ranges);
    check_colours(task.colours, ranges);
    ranges.real("temperature", task.temperature, 0.001, 100);
    // Scores are cosines. With a smaller one most of exp(score ÷ epsilon) would be 0 in fp32.
    ranges.real("epsilon", task.epsilon, 0.01, 100);
    ranges.whole("iterations", task.iterations, 1, 100);
    // Batch norm needs two values of a channel.
    ranges.whole("micro_batch", task.micro_batch, 2, 65'536);
    if (task.queue > 0) ranges.whole("queue", task.queue, task.micro_batch, 65'536);
    return std::move(ranges).first();
}

std::vector<TensorSpec> swav_tensors(const SwavSpec& task) {
    const std::uint64_t features = feature_count(task.trunk);
    const std::string head = "projection_head";
    SwavLayout out;
    for (const Convolution& map : convolutions(task.trunk)) out.convolution(map);
    if (task.hidden > 0) {
        out.linear(head + ".0", task.hidden, features);
        out.norm(head + ".1", task.hidden);
        out.linear(head + ".3", task.projection, task.hidden);
    } else {
        out.linear(head, task.projection, features);
    }
    out.matrix("prototypes", task.prototypes, task.projection);
    std::vector<TensorSpec> tensors = std::move(out).finish();
    tensors.back().has_unit_rows = true;
    tensors.back().frozen_steps = task.frozen_steps;
    return tensors;
}

double swav_flops_per_sample(const SwavSpec& task) {
    const std::vector<Convolution> maps = convolutions(task.trunk);
    double products = 0;
    for (const CropSpec& crop : task.crops) {
        double one = head_products(task);
        for (const Convolution& map : maps) {
            one += static_cast<double>(weights_of(map)) *
                   static_cast<double>(pixels_of(map, crop.size));
        }
        products += static_cast<double>(crop.count) * one;
    }
    return 3 * 2 * products;
}

std::uint64_t swav_activation_bytes(const SwavSpec& task, bool is_reduced) {
    const std::uint64_t element = is_reduced ? 2 : 4;
    const std::vector<Convolution> maps = convolutions(task.trunk);
    std::uint64_t bytes = 0;
    for (const CropSpec& crop : task.crops) {
        // The crop itself, and in reduced precision what it was cast to.
        std::uint64_t one = 3 * crop.size * crop.size * (is_reduced ? 4 + 2 : 4);
        for (const Convolution& map : maps) {
            // The convolution's output; the ReLU's, unless a block's end has it.
            const std::uint64_t saved = map.role == ConvolutionRole::kShortcut ? 1 : 2;
            one += saved * element * map.outputs * pixels_of(map, crop.size);
        }
        if (!task.trunk.has_small_stem) {
            // The max-pool's output, and the index of each of its maxima.
            const std::uint64_t side = (crop.size + 3) / 4;
            one += (element + 8) * task.trunk.width * side * side;
        }
        // Hidden layer and ReLU; projection and its normalisation; scores and their logarithms,
        // and as much for their gradients, which exist when everything else still does.
        one += 2 * element * task.hidden + 4 * 4 * task.projection + 4 * 4 * task.prototypes;
        bytes += crop.count * one;
    }
    return bytes;
}

std::uint64_t swav_cast_bytes(const SwavSpec& task) {
    std::uint64_t trunk = 0;
    for (const Convolution& map : convolutions(task.trunk)) trunk += weights_of(map);
    return 2 * (task.crops.size() * trunk + head_weights(task));
}

}  // namespace dedloc::formats
