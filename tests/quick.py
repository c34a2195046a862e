"""Tests that ``make quick`` and ``make test`` leave out, beside those marked where they stand.

The quick part takes a row of each operator, optimizer, metric, iterator and reader, which
`tests/test_quick.py` checks; the rest of the tables, processes and long trainings are left to
``make test``, by the mark ``slow``: those that `tools/time_tests.py` lists, and most of the tests
in each table of ``ONE_IN``.

The mark ``thorough`` leaves tests to ``make thorough``, which CI runs behind ``make test``: those
that repeat another test in another mode, process or size. They are ``slow`` too.
"""

from collections import Counter
from pathlib import Path

import pytest

EVERY_TEST = pytest.StashKey[list]()
"""All collected tests, those that marks leave out too."""

ONE_IN = {
    "tests/autograd/test_reference.py": 3,
    "tests/compile/test_program.py::test_networks_whose_dropouts_differ_by_names_compile_once": 2,
    "tests/contrib/test_quantization.py": 3,
    "tests/metric/test_metric.py::test_arrays_of_other_kinds_do_as_well": 3,
    "tests/metric/test_metric.py::test_replicas_are_updates_of_their_own": 3,
    "tests/module/test_accumulation.py::test_k_batches_learn_as_one_large_one": 3,
    "tests/module/test_callback_parts.py::test_frozen_parameters_keep_their_bits": 3,
    "tests/module/test_half_weights.py": 2,
    "tests/module/test_half_weights.py::test_masters_train_as_float32_does": 3,
    "tests/module/test_input.py": 3,
    "tests/module/test_mixed_precision.py::test_a_step_is_close_to_that_in_float32": 3,
    "tests/module/test_mixed_precision.py::test_what_is_kept_and_shown_is_float32": 3,
    "tests/module/test_model_parallel.py": 5,
    "tests/module/test_resume.py": 2,
    "tests/module/test_resume.py::test_an_interrupted_training_has_the_same_bits": 4,
    "tests/module/test_resume.py::test_streams_of_a_users_data_go_on": 6,
    "tests/module/test_score.py::test_a_score_is_that_of_its_outputs": 3,
    "tests/module/test_steps_per_call.py": 7,
    "tests/module/test_weights.py::test_gradients_are_clipped_as_by_optax": 4,
    "tests/ndarray/test_sparse_values.py::test_a_trained_model": 2,
    "tests/ndarray/test_sparse_values.py::test_two_contexts": 3,
    "tests/ops/test_mixed_types.py::test_16_bits_beside_float32": 10,
    "tests/ops/test_multibox.py::test_targets": 2,
    "tests/ops/test_on_host.py::test_like_the_reference": 3,
    "tests/ops/test_recurrent.py": 3,
    "tests/ops/test_regions.py": 2,
    "tests/ops/test_windows.py": 3,
    "tests/ops/test_on_host.py::test_random_numbers_are_those_of_xla": 12,
    "tests/ops/test_random_ops.py::test_by_number": 4,
    "tests/ops/test_random_ops.py::test_by_tensor": 4,
    "tests/optimizer/test_optimizer_figures.py::test_same_weights_and_states_as_the_reference": 2,
    "tests/optimizer/test_tree_rule.py": 6,
    "tests/rnn/test_rnn_cells.py": 8,
    "tests/step/test_across_devices.py::test_statistics_dropout_and_metric_agree": 2,
    "tests/step/test_fused.py::test_every_order_of_calls_gives_the_same_parameters": 6,
    "tests/step/test_laziness.py::test_orders_of_calls": 9,
    "tests/step/test_replicas.py": 3,
    "tests/step/test_segments.py": 6,
    "tests/step/test_shards.py::test_a_rule_for_parts_has_the_numbers_of_the_whole": 4,
    "tests/step/test_shards.py::test_training_has_the_numbers_of_whole_states": 3,
    "tests/step/test_sparse_steps.py": 3,
    "tests/symbol/test_layout.py::test_nobody_sees_the_order": 4,
    "tests/symbol/test_reroll.py::test_the_same_numbers": 12,
    "tests/test_behaviour.py::test_the_answer_is_the_same": 2,
    "tests/test_continue_training.py::test_training_goes_on": 3,
    "tests/test_custom_operator.py": 3,
    "tests/test_docs.py::test_examples_in_docstrings": 3,
    "tests/test_fuzz_readers.py::test_damage_here_and_there": 3,
    "tests/test_imagenet_picture.py": 8,
    "tests/test_memory.py": 7,
    "tests/test_recipes.py": 20,
    "tests/test_trajectories.py::test_trajectory": 3,
    "tests/tuning/test_cpu_convolution.py": 10,
}
"""Files and tables whose tests resemble each other: one in that many is quick."""

SLOW = frozenset((Path(__file__).parent / "slow_tests.txt").read_text().splitlines())
"""Functions and single tests that take long, as `tools/time_tests.py` has measured."""

THOROUGH = {
    "tests/commands/test_launch.py": [
        "test_no_worker_is_left_on_other_machines[2]",
    ],
    "tests/compat/test_run.py": [
        "test_processes_that_a_program_starts_run_alike[forkserver]",
    ],
    "tests/compile/test_executables.py": [
        "test_threads_call_while_executables_are_freed",
    ],
    "tests/contrib/test_quantization.py": [
        "test_like_the_reference[deep-{'calib_mode': 'entropy'}]",
        "test_like_the_reference[plain-{'calib_mode': 'entropy', 'quantized_dtype': 'auto', "
        "'num_calib_examples': 16}]",
        "test_like_the_reference[plain-{'calib_mode': 'entropy'}]",
        "test_symbol_files_of_the_reference_run_and_are_near_to_float32[deep-{'calib_mode': "
        "'entropy'}]",
        "test_symbol_files_of_the_reference_run_and_are_near_to_float32[plain-{'calib_mode': "
        "'entropy', 'quantized_dtype': 'auto', 'num_calib_examples': 16}]",
        "test_symbol_files_of_the_reference_run_and_are_near_to_float32[plain-{'calib_mode': "
        "'entropy'}]",
    ],
    "tests/kvstore/test_attack_workers.py": [
        "test_a_killed_worker_is_named_and_the_training_goes_on_as_one_process",
    ],
    "tests/kvstore/test_dist.py": [
        "test_a_signal_ends_workers_at_once[by hand]",
        "test_a_worker_that_ends_ends_the_others[exits]",
        "test_a_worker_that_ends_ends_the_others[raises]",
        "test_the_recipe_has_the_numbers_of_one_process",
        "test_workers_of_other_launchers_have_a_watch[connected]",
    ],
    "tests/module/test_mixed_precision.py": [
        "test_digits_are_learned_as_well",
    ],
    "tests/module/test_model_parallel.py": [
        "test_buckets",
        "test_compressed_gradients",
        "test_mixed_precision",
        "test_replicas_each_over_devices_of_its_own[dictionaries-None]",
        "test_replicas_each_over_devices_of_its_own[lists-None]",
    ],
    "tests/module/test_resume.py": [
        "test_killed_at_random_moments_it_ends_with_the_same_bits",
    ],
    "tests/module/test_steps_per_call.py": [
        "test_bulk_is_the_same",
        "test_counts_rates_and_noise_go_on[ftml]",
        "test_the_same_numbers[pmap]",
    ],
    "tests/step/test_across_devices.py": [
        "test_a_monitor_sees_the_same",
    ],
    "tests/step/test_interrupts.py": [
        "test_a_signal_handler_may_read_at_any_instant[at_once-outputs-7]",
        "test_a_signal_handler_may_read_at_any_instant[train-outputs-9]",
        "test_an_interrupt_at_any_instant_leaves_the_state_before_the_step_or_after_it[vmap]",
    ],
    "tests/step/test_laziness.py": [
        "test_any_order_of_calls",
    ],
    "tests/step/test_replicas.py": [
        "test_a_monitor_sees_uneven_slices_too",
    ],
    "tests/step/test_segments.py": [
        "test_monitors_see_the_same",
    ],
    "tests/step/test_shards.py": [
        "test_buckets_share_parts",
        "test_several_steps_in_a_program_and_updates_apart",
    ],
    "tests/symbol/test_recompute.py": [
        "test_numbers_are_the_same_where_outputs_are_read_first",
    ],
    "tests/symbol/test_reroll.py": [
        "test_16_bits",
    ],
    "tests/test_attacks.py": [
        "test_memory_does_not_grow_with_steps_shapes_and_buckets",
        "test_steps_on_several_devices_do_not_stop_each_other",
        "test_threads_lose_nothing[modules]",
        "test_threads_lose_nothing[readers]",
        "test_threads_lose_nothing[replicas]",
    ],
    "tests/test_benchmarks.py": [
        "test_the_command_measures_and_keeps_figures",
    ],
    "tests/test_benchmarks_layers.py": [
        "test_the_command_keeps_other_rows",
    ],
    "tests/test_crash_safety.py": [
        "test_a_killed_writer_leaves_checkpoints_that_load[many]",
        "test_a_killed_writer_leaves_records_that_were_written[many]",
    ],
    "tests/test_fuzz_readers.py": [
        "test_damage_everywhere",
        "test_much_damage",
    ],
    "tests/test_imagenet_picture.py": [
        "test_four_slices",
        "test_one_update",
    ],
    "tests/test_monitor.py": [
        "test_a_process_that_finds_its_programs_on_disk_sees_the_same",
    ],
    "tests/test_recipes.py": [
        "test_a_checkpoint_of_the_reference_needs_few_images_for_another_task",
        "test_a_custom_loss_trains_intervals",
        "test_a_factorization_machine_learns_what_no_linear_model_can",
        "test_a_generator_draws_the_digits_that_are_wanted",
        "test_a_language_model_learns_more_than_how_frequent_words_are",
        "test_a_policy_learns_to_balance",
        "test_a_quantized_network_is_smaller_and_nearly_as_good",
        "test_an_autoencoder_reconstructs_about_as_well_as_principal_components",
        "test_convolutions_over_words_tell_sentences_apart",
        "test_factors_of_known_pixels_predict_the_missing_ones",
        "test_layers_of_an_lstm_train_on_different_devices",
        "test_the_same_seed_gives_the_same_accuracy",
        "test_two_devices",
        "test_two_losses_train_one_network",
    ],
    "tests/tuning/test_config.py": [
        "test_a_tuned_and_a_plain_run_give_the_same_numbers",
    ],
}
"""Tests that repeat others, by file: functions, or single tests by the name that pytest shows.

Attacks, damage and benchmarks are the short forms of tools, in processes of their own; ResNet-50
and most recipes train what smaller ones do too.
"""

ONE_SLOW_IN = {
    "tests/autograd/test_reference.py": 3,
    "tests/compile/test_program.py": 3,
    "tests/contrib/test_quantization.py": 3,
    "tests/kvstore/test_dist.py": 3,
    "tests/metric/test_metric.py": 3,
    "tests/module/test_accumulation.py": 3,
    "tests/module/test_callback_parts.py": 3,
    "tests/module/test_half_weights.py": 3,
    "tests/module/test_input.py": 3,
    "tests/module/test_mixed_precision.py": 3,
    "tests/module/test_model_parallel.py": 3,
    "tests/module/test_other_modules.py": 3,
    "tests/module/test_resume.py": 3,
    "tests/module/test_score.py": 3,
    "tests/module/test_steps_per_call.py": 3,
    "tests/module/test_weights.py": 3,
    "tests/ndarray/test_sparse_values.py": 6,
    "tests/ops/test_mixed_types.py": 12,
    "tests/ops/test_multibox.py": 3,
    "tests/ops/test_on_host.py": 4,
    "tests/ops/test_on_host.py::test_random_numbers_are_those_of_xla": 6,
    "tests/ops/test_ops.py::test_parameters_as_text": 4,
    "tests/ops/test_ops.py::test_shapes": 8,
    "tests/ops/test_random_ops.py": 3,
    "tests/ops/test_regions.py": 3,
    "tests/ops/test_windows.py": 3,
    "tests/optimizer/test_optimizer_figures.py": 3,
    "tests/optimizer/test_tree_rule.py": 6,
    "tests/rnn/test_rnn_cells.py": 6,
    "tests/step/test_across_devices.py": 3,
    "tests/step/test_contexts_apart.py": 3,
    "tests/step/test_fused.py": 3,
    "tests/step/test_interrupts.py": 3,
    "tests/step/test_laziness.py": 3,
    "tests/step/test_replicas.py": 3,
    "tests/step/test_residuals.py": 3,
    "tests/step/test_segments.py": 3,
    "tests/step/test_shards.py": 3,
    "tests/step/test_sparse_steps.py": 3,
    "tests/symbol/test_control_flow.py": 3,
    "tests/symbol/test_layout.py": 3,
    "tests/symbol/test_reroll.py": 4,
    "tests/test_continue_training.py": 3,
    "tests/test_custom_operator.py": 3,
    "tests/test_fuzz_readers.py": 3,
    "tests/test_lazy.py": 3,
    "tests/test_trajectories.py": 6,
    "tests/tuning/test_allocator.py": 3,
    "tests/tuning/test_cpu_convolution.py": 4,
    "tests/tuning/test_pooling_by_axis.py": 3,
}
"""Tables, and files of them, whose rows resemble each other.

Of the slow tests of a function, one in that many is in ``make test``. `tests/ops/test_ops.py` thins
out its rows itself, by those that compile together.
"""


def is_slow(item):
    """``item.get_closest_marker("slow")`` as a truth value."""
    return item.get_closest_marker("slow") is not None


def mark(items):
    """Mark the tests of the tables, and those with ``thorough`` as ``slow``."""
    seen, slow = Counter(), Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        file, _, name = function.partition("::")
        for table in {file, function} & ONE_IN.keys():
            if seen[table] % ONE_IN[table]:
                item.add_marker(pytest.mark.slow)
            seen[table] += 1
        if {name, item.name} & set(THOROUGH.get(file, ())):
            item.add_marker(pytest.mark.thorough)
        thorough = item.get_closest_marker("thorough")
        if thorough or {function, item.nodeid} & SLOW:
            item.add_marker(pytest.mark.slow)
        if is_slow(item) and not thorough:
            if slow[function] % ONE_SLOW_IN.get(function, ONE_SLOW_IN.get(file, 1)):
                item.add_marker(pytest.mark.thorough)
            slow[function] += 1
