// ModuleSpec in a run file.
#pragma once

#include <vector>

#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/module_spec.hpp"

namespace dedloc::formats {

/// Reads the fields of "model" after its architecture. Errors: InputError, as JsonFields.
ModuleSpec read_module(JsonFields& fields);

/// The name of a type in the file: "float32", "int64", "uint8".
const char* name_of(ElementType type);

/// Reads the list "inputs", the tensors of a sample. Errors: InputError, as JsonFields.
std::vector<SampleTensor> read_inputs(JsonFields& fields);

/// Writes the list "inputs" with a writer of RapidJSON.
template <class Writer>
void put_inputs(Writer& out, const std::vector<SampleTensor>& inputs) {
    out.Key("inputs");
    out.StartArray();
    for (const SampleTensor& input : inputs) {
        out.StartObject();
        put(out, "type", name_of(input.type));
        put(out, "shape", input.shape);
        out.EndObject();
    }
    out.EndArray();
}

/// Writes the fields of "model" after its architecture with a writer of RapidJSON.
template <class Writer>
void put_module(Writer& out, const ModuleSpec& model) {
    put(out, "file", model.name);
    put(out, "digest", model.digest.hex());
    put(out, "bytes", model.bytes);
    if (model.vocabulary != 0) {
        put(out, "vocabulary", model.vocabulary);
    } else if (model.picture_side != 0) {
        put(out, "picture_side", model.picture_side);
    } else {
        put_inputs(out, model.inputs);
    }
    put(out, "flops", model.flops);
    put(out, "sample_bytes", model.sample_bytes);
}

}  // namespace dedloc::formats
