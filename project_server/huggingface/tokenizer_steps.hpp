// The steps of a tokenizer.json before and after its model, read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/json_fields.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::huggingface {

// All of them read untrusted JSON; `document` is the file's name for messages. Sequences may lie in
// sequences, few levels deep. Errors: InputError in one sentence that names the kind that is not
// implemented, or the field that is damaged.

/// "normalizer".
std::vector<NormaliserStep> read_normaliser_steps(const std::string& document,
                                                  const rapidjson::Value& value);
/// "pre_tokenizer".
std::vector<Division> read_divisions(const std::string& document, const rapidjson::Value& value);
/// "post_processor": nothing if there is none. Samples are built as [CLS] A [SEP] B [SEP], so any
/// other form is refused, and so is an id that is not below `vocabulary`.
std::optional<Around> read_around(const std::string& document, const rapidjson::Value& value,
                                  std::size_t vocabulary);

}  // namespace dedloc::huggingface
