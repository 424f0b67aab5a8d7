// SwavSpec in a run file.
#pragma once

#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::formats {

/// Reads the fields of "model" after its architecture. Errors: InputError, as JsonFields; one
/// sentence, as fault_of().
SwavSpec read_swav(JsonFields& fields);

/// Writes the fields of a colour with a writer of RapidJSON.
template <class Writer>
void put_colours(Writer& out, const ColourSpec& colours) {
    out.Key("colours");
    out.StartObject();
    put(out, "brightness", colours.brightness);
    put(out, "contrast", colours.contrast);
    put(out, "saturation", colours.saturation);
    put(out, "hue", colours.hue);
    put(out, "jitter", colours.jitter);
    put(out, "gray", colours.gray);
    put(out, "blur", colours.blur);
    put(out, "min_radius", colours.min_radius);
    put(out, "max_radius", colours.max_radius);
    put(out, "mean", colours.mean);
    put(out, "deviation", colours.deviation);
    out.EndObject();
}

/// Writes the fields of "model" after its architecture with a writer of RapidJSON.
template <class Writer>
void put_swav(Writer& out, const SwavSpec& model) {
    out.Key("trunk");
    out.StartObject();
    put(out, "bottlenecks", model.trunk.has_bottlenecks);
    put(out, "blocks", model.trunk.blocks);
    put(out, "width", model.trunk.width);
    put(out, "small_stem", model.trunk.has_small_stem);
    out.EndObject();
    put(out, "hidden", model.hidden);
    put(out, "projection", model.projection);
    put(out, "prototypes", model.prototypes);
    out.Key("crops");
    out.StartArray();
    for (const CropSpec& crop : model.crops) {
        out.StartObject();
        put(out, "size", crop.size);
        put(out, "count", crop.count);
        put(out, "min_area", crop.min_area);
        put(out, "max_area", crop.max_area);
        out.EndObject();
    }
    out.EndArray();
    put_colours(out, model.colours);
    put(out, "temperature", model.temperature);
    put(out, "epsilon", model.epsilon);
    put(out, "iterations", model.iterations);
    put(out, "queue", model.queue);
    put(out, "queue_from_step", model.queue_from_step);
    put(out, "frozen_steps", model.frozen_steps);
    put(out, "micro_batch", model.micro_batch);
}

}  // namespace dedloc::formats
