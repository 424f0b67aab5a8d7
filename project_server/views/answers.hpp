// What a run's model answers to masked sentences, from one measurement to the next.
#pragma once

#include <span>

#include "project_server/database/database.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// [{before, after, wanted, words: [{word, probability}]}]: answers of one state, for programs.
json::Value::List answer_list(std::span<const MaskedAnswer> answers);

/// Reads the answers of each of these evaluations of a run (dedloc_run.id) into them.
/// Errors: DatabaseError.
void read_answers_of(Database& database, std::int64_t run, std::vector<EvaluationRow>& rows);

/// Adds to a run's page: has_sentences, and unless there are none sentences: [{before, after,
/// wanted, has_wanted, states: [{step, words: [{word, share, is_wanted}]}]}], those of the newest
/// evaluation with answers, each with what up to eight evaluations answer, the newest first.
/// `share` is for people: "12.3 %". Words and texts may have markup. `rows`: the run's valid
/// evaluations, ascending. Errors: DatabaseError. Cost: eight look-ups in one message.
void add_answers(json::Value& data, Database& database, std::int64_t run,
                 std::span<const EvaluationRow> rows);

}  // namespace dedloc::server
