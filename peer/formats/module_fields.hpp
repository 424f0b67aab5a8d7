// ModuleSpec in a run file.
#pragma once

#include <vector>

#include "peer/formats/json_fields.hpp"
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
        out.Key("type");
        out.String(name_of(input.type));
        out.Key("shape");
        out.StartArray();
        for (const std::uint64_t extent : input.shape) out.Uint64(extent);
        out.EndArray();
        out.EndObject();
    }
    out.EndArray();
}

/// Writes the fields of "model" after its architecture with a writer of RapidJSON.
template <class Writer>
void put_module(Writer& out, const ModuleSpec& model) {
    out.Key("file");
    out.String(model.name.c_str());
    out.Key("digest");
    out.String(model.digest.hex().c_str());
    out.Key("bytes");
    out.Uint64(model.bytes);
    if (model.vocabulary != 0) {
        out.Key("vocabulary");
        out.Uint64(model.vocabulary);
    } else {
        put_inputs(out, model.inputs);
    }
    out.Key("flops");
    out.Double(model.flops);
    out.Key("sample_bytes");
    out.Uint64(model.sample_bytes);
}

}  // namespace dedloc::formats
