// A Markdown text: front matter for Hugging Face's site, a table of facts of the run, the figures
// on held-out data if the project has measured this very state, and how to load and verify it.
// Words and units of figures are those of the run's task (peer/formats/figures.hpp).
#include "project_server/huggingface/model_card.hpp"

#include <fmt/format.h>

#include <string_view>

#include "peer/formats/task.hpp"
#include "project_server/huggingface/card_texts.hpp"

namespace dedloc::huggingface {
namespace {

/// A table with the loss and all figures of the task that were measured.
std::string measurement_section(const formats::RunFile& run, const Measurement& measured) {
    const std::string_view architecture = formats::architecture_of(run);
    std::string text = fmt::format(
        "\n## Measured\n\nThe project has measured this state on {} samples of {} that no "
        "volunteer "
        "trained on.\n\n| figure | value | standard error | better is |\n|---|---|---|---|\n",
        measured.samples, formats::data_of(architecture));
    const auto row = [&](const formats::FigureKind& kind, double value,
                         const std::optional<double>& error) {
        text +=
            fmt::format("| {} | {}{} | {} | {} |\n", kind.label, formats::figure_text(kind, value),
                        kind.unit == formats::FigureUnit::kNats ? " nats" : "",
                        error ? formats::figure_text(kind, *error) : "",
                        kind.is_higher_better ? "higher" : "lower");
    };
    row(formats::loss_of(architecture), measured.loss, measured.loss_error);
    for (const formats::FigureKind& kind : formats::figures_of(architecture)) {
        const auto* const figure = formats::find_figure(measured.figures, kind.name);
        if (figure != nullptr) row(kind, figure->value, figure->error);
    }
    for (const formats::SourceLoss& source : formats::source_losses(measured.figures)) {
        formats::FigureKind kind = formats::loss_of(architecture);
        const std::string label = "loss of " + source.source;
        kind.label = label.c_str();
        row(kind, source.loss, source.error);
    }
    return text;
}

/// A text that an administrator wrote, inside a table.
std::string cell_of(const std::string& text) {
    std::string cell;
    for (const char letter : text) cell += letter == '|' ? std::string{"\\|"} : std::string{letter};
    return cell;
}

/// The sources that samples came from, with the notes of their licences.
std::string source_section(const formats::RunFile& run) {
    if (run.sources.empty()) return {};
    std::string text =
        "\n## Sources\n\n| source | samples at the beginning | licence |\n|---|---|---|\n";
    double sum = 0;
    for (const formats::SourceSpec& source : run.sources) sum += static_cast<double>(source.weight);
    const std::size_t own = run.sources.size() - run.added_sources;
    for (std::size_t i = 0; i < run.sources.size(); ++i) {
        const formats::SourceSpec& source = run.sources[i];
        const std::string share =
            i < own ? fmt::format("{:.1f} %", 100 * static_cast<double>(source.weight) / sum)
                    : "added in mid-run";
        text += fmt::format("| {} | {} | {} |\n", source.name, share,
                            source.licence.empty() ? "not said" : cell_of(source.licence));
    }
    return text;
}

}  // namespace

std::string write_model_card(const formats::RunFile& run, const Provenance& provenance,
                             const std::optional<Measurement>& measured) {
    const CardTexts texts = card_texts(run, provenance.proof.has_value());
    std::string text = texts.front_matter;
    text += fmt::format("# {}\n\n{}\n\n", run.name, texts.description);
    const auto row = [&](const char* name, const std::string& value) {
        text += fmt::format("| {} | {} |\n", name, value);
    };
    row("", "");
    text += "|---|---|\n";
    row("run", fmt::format("{} (id `{}`)", run.name, formats::run_id(run).hex()));
    row("steps", fmt::format("{} of {}", provenance.step.value(), run.steps));
    if (provenance.proof) {
        row("samples", fmt::format("{}", provenance.proof->samples.value()));
        row("contributors", fmt::format("{}", provenance.proof->contributors));
    }
    if (formats::holds_text(run)) row("sequence length", fmt::format("{}", run.sequence_length));
    row("target batch", fmt::format("{} samples", run.target_batch));
    row("optimizer", fmt::format("{}, peak learning rate {}", formats::name_of(run.optimizer.name),
                                 run.optimizer.learning_rate));
    row("state digest", fmt::format("`{}`", provenance.state.hex()));
    if (provenance.proof) {
        row("ledger digest", provenance.proof->record == Digest{}
                                 ? std::string{"none: the run starts from this state"}
                                 : fmt::format("`{}`", provenance.proof->record.hex()));
    }
    row("project key", fmt::format("`{}`", run.project_key.hex()));
    row("backbone key", fmt::format("`{}`", run.backbone_key.hex()));
    text += source_section(run);
    if (measured) text += measurement_section(run, *measured);
    text += texts.loading;
    if (!provenance.proof) {
        return text +
               "\n## Not proven\n\nNo ledger of the run has the digest of this state at its step: "
               "it was not made by the run's volunteers, or\nnot proven when it was exported. What "
               "is said above about its training is what the file said.\n";
    }
    text += fmt::format(
        "\n## Verify it\n\nThe run's ledger contains the step at which this state was reached, "
        "signed by a majority of the run's voters, and the\ndigest of the whole state (parameters "
        "and optimizer). With the run file `run.json`, the file `ledger` and the checkpoint\n"
        "`step_{:09}.state` of the project, all in one folder,\n\n    dedloc run checkpoint verify "
        "--folder FOLDER FOLDER/step_{:09}.state\n\nchecks every signature. Contributors are keys "
        "of "
        "peers with at least one sample in a step up to this one.\n",
        provenance.step.value(), provenance.step.value());
    return text;
}

}  // namespace dedloc::huggingface
