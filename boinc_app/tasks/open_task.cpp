#include "boinc_app/tasks/open_task.hpp"

#include <utility>
#include <variant>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/inputs/module_file.hpp"
#include "boinc_app/inputs/shard_files.hpp"
#include "boinc_app/module/script_task.hpp"
#include "boinc_app/swav/swav_task.hpp"
#include "boinc_app/tasks/module_shards.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::tasks {
namespace {

using training::module::ScriptTask;

/// A module with the file that it is loaded from.
class ModuleTask final : public training::Task {
  public:
    ModuleTask(const formats::RunFile& run, inputs::ModuleFile file,
               std::unique_ptr<const training::module::SampleSource> samples)
        : file_(std::move(file)),
          script_(run, file_.bytes, std::move(samples), training::module::bounds_of(run)) {}

    std::unique_ptr<training::Model> make_model(
        std::span<const float> parameters,
        const training::Computation& computation) const override {
        return script_.make_model(parameters, computation);
    }

  private:
    const inputs::ModuleFile file_;
    const ScriptTask script_;
};

std::unique_ptr<training::Task> open_module_task(const formats::RunFile& run,
                                                 const formats::ModuleSpec& model,
                                                 const TaskFiles& files) {
    return std::make_unique<ModuleTask>(
        run, inputs::open_module(files.module, model),
        training::module::open_samples(run, module_shards(files.shards, run)));
}

}  // namespace

std::unique_ptr<training::Task> open_task(const formats::RunFile& run, const TaskFiles& files) {
    if (const auto* const model = std::get_if<formats::ModuleSpec>(&run.model)) {
        return open_module_task(run, *model, files);
    }
    if (formats::holds_text(run)) {
        return std::make_unique<training::albert::AlbertTask>(
            run, inputs::open_shards(files.shards, run));
    }
    return std::make_unique<swav::SwavTask>(
        run, inputs::open_shards<formats::PictureShard>(files.shards, run));
}

}  // namespace dedloc::tasks
