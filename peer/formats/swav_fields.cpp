// Ranges here only keep numbers representable; what a network may be is said by fault_of().
#include "peer/formats/swav_fields.hpp"

#include "peer/base/error.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint64_t kMaxWhole = std::uint64_t{1} << 40;
constexpr double kMaxReal = 1e12;

ResNetSpec read_trunk(JsonFields fields) {
    ResNetSpec trunk;
    trunk.has_bottlenecks = fields.boolean("bottlenecks");
    trunk.blocks.clear();
    for (const auto& blocks : fields.array("blocks", 1, 4).GetArray()) {
        if (!blocks.IsUint64() || blocks.GetUint64() > kMaxWhole) {
            fields.refuse("blocks", "must contain whole numbers");
        }
        trunk.blocks.push_back(blocks.GetUint64());
    }
    trunk.width = fields.integer("width", 1, kMaxWhole);
    trunk.has_small_stem = fields.boolean("small_stem");
    fields.finish();
    return trunk;
}

std::array<double, 3> read_three(JsonFields& fields, const char* name) {
    std::array<double, 3> values{};
    const auto& list = fields.array(name, 3, 3);
    for (rapidjson::SizeType i = 0; i < 3; ++i) {
        if (!list[i].IsNumber()) fields.refuse(name, "must contain three numbers");
        values.at(i) = list[i].GetDouble();
    }
    return values;
}

ColourSpec read_colours(JsonFields fields) {
    ColourSpec colours;
    const auto real = [&](const char* name) { return fields.number(name, 0, kMaxReal); };
    colours.brightness = real("brightness");
    colours.contrast = real("contrast");
    colours.saturation = real("saturation");
    colours.hue = real("hue");
    colours.jitter = real("jitter");
    colours.gray = real("gray");
    colours.blur = real("blur");
    colours.min_radius = real("min_radius");
    colours.max_radius = real("max_radius");
    colours.mean = read_three(fields, "mean");
    colours.deviation = read_three(fields, "deviation");
    fields.finish();
    return colours;
}

std::vector<CropSpec> read_crops(JsonFields& fields) {
    constexpr std::size_t kMaxSizes = 16;
    std::vector<CropSpec> crops;
    for (JsonFields& crop : fields.objects("crops", 1, kMaxSizes)) {
        crops.push_back({.size = crop.integer("size", 1, kMaxWhole),
                         .count = crop.integer("count", 1, kMaxWhole),
                         .min_area = crop.number("min_area", 0, 1),
                         .max_area = crop.number("max_area", 0, 1)});
        crop.finish();
    }
    return crops;
}

}  // namespace

SwavSpec read_swav(JsonFields& fields) {
    SwavSpec model;
    const auto whole = [&](const char* name) { return fields.integer(name, 0, kMaxWhole); };
    model.trunk = read_trunk(fields.object("trunk"));
    model.hidden = whole("hidden");
    model.projection = whole("projection");
    model.prototypes = whole("prototypes");
    model.crops = read_crops(fields);
    model.colours = read_colours(fields.object("colours"));
    model.temperature = fields.number("temperature", 0, kMaxReal);
    model.epsilon = fields.number("epsilon", 0, kMaxReal);
    model.iterations = whole("iterations");
    model.queue = whole("queue");
    model.queue_from_step = whole("queue_from_step");
    model.frozen_steps = whole("frozen_steps");
    model.micro_batch = whole("micro_batch");
    if (const auto fault = fault_of(model)) throw InputError{"the run file's model: " + *fault};
    return model;
}

}  // namespace dedloc::formats
