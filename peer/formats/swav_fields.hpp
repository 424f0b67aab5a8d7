// SwavSpec in a run file.
#pragma once

#include "peer/formats/json_fields.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::formats {

/// Reads the fields of "model" after its architecture. Errors: InputError, as JsonFields; one
/// sentence, as fault_of().
SwavSpec read_swav(JsonFields& fields);

/// Writes the fields of a colour with a writer of RapidJSON.
template <class Writer>
void put_colours(Writer& out, const ColourSpec& colours) {
    const auto put = [&](const char* name, double value) {
        out.Key(name);
        out.Double(value);
    };
    const auto put_list = [&](const char* name, const std::array<double, 3>& values) {
        out.Key(name);
        out.StartArray();
        for (const double value : values) out.Double(value);
        out.EndArray();
    };
    out.Key("colours");
    out.StartObject();
    put("brightness", colours.brightness);
    put("contrast", colours.contrast);
    put("saturation", colours.saturation);
    put("hue", colours.hue);
    put("jitter", colours.jitter);
    put("gray", colours.gray);
    put("blur", colours.blur);
    put("min_radius", colours.min_radius);
    put("max_radius", colours.max_radius);
    put_list("mean", colours.mean);
    put_list("deviation", colours.deviation);
    out.EndObject();
}

/// Writes the fields of "model" after its architecture with a writer of RapidJSON.
template <class Writer>
void put_swav(Writer& out, const SwavSpec& model) {
    const auto put = [&](const char* name, std::uint64_t value) {
        out.Key(name);
        out.Uint64(value);
    };
    const auto put_real = [&](const char* name, double value) {
        out.Key(name);
        out.Double(value);
    };
    out.Key("trunk");
    out.StartObject();
    out.Key("bottlenecks");
    out.Bool(model.trunk.has_bottlenecks);
    out.Key("blocks");
    out.StartArray();
    for (const std::uint64_t blocks : model.trunk.blocks) out.Uint64(blocks);
    out.EndArray();
    put("width", model.trunk.width);
    out.Key("small_stem");
    out.Bool(model.trunk.has_small_stem);
    out.EndObject();
    put("hidden", model.hidden);
    put("projection", model.projection);
    put("prototypes", model.prototypes);
    out.Key("crops");
    out.StartArray();
    for (const CropSpec& crop : model.crops) {
        out.StartObject();
        put("size", crop.size);
        put("count", crop.count);
        put_real("min_area", crop.min_area);
        put_real("max_area", crop.max_area);
        out.EndObject();
    }
    out.EndArray();
    put_colours(out, model.colours);
    put_real("temperature", model.temperature);
    put_real("epsilon", model.epsilon);
    put("iterations", model.iterations);
    put("queue", model.queue);
    put("queue_from_step", model.queue_from_step);
    put("frozen_steps", model.frozen_steps);
    put("micro_batch", model.micro_batch);
}

}  // namespace dedloc::formats
