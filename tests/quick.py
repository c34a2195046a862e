"""Tests that ``make quick`` and ``make test`` leave out, beside those marked where they stand.

The quick part takes a row of each operator, optimizer, metric, iterator and reader, which
`tests/test_quick.py` checks; the rest of the tables, processes and long trainings are left to
``make test``, by the mark ``slow``. A test in the first two tables takes about a second, and
another one in the quick part runs most of the same code.

The mark ``thorough`` leaves tests to ``make thorough``, which CI runs behind ``make test``: those
that repeat another test in another mode, process or size. They are ``slow`` too.
"""

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

LEFT_OUT = {
    "tests/artefacts/test_containers.py": [
        "test_whatever_arrays_come_back[params]",
    ],
    "tests/commands/test_commands.py": [
        "test_a_reader_that_has_seen_enough",
    ],
    "tests/commands/test_launch.py": [
        "test_a_machine_that_is_not_there",
        "test_workers_on_other_machines",
    ],
    "tests/compat/test_run.py": [
        "test_errors_are_the_programs_own",
        "test_nothing_is_put_back_without_shims",
        "test_old_program_runs_on_many_devices",
        "test_processes_that_a_program_starts_run_alike",
        "test_program_finds_its_neighbours",
        "test_programs_that_a_program_starts_run_alike",
        "test_python_2_is_named",
        "test_the_status_is_that_of_the_process",
    ],
    "tests/compile/test_executables.py": [
        "test_threads_call_while_executables_are_freed",
    ],
    "tests/compile/test_program.py": [
        "test_another_process_compiles_nothing_and_says_nothing",
    ],
    "tests/contrib/test_quantization.py": [
        "test_a_first_batch_without_a_range_leaves_that_of_the_others",
        "test_steps_like_the_reference[thresholds of uint8]",
    ],
    "tests/io/test_detection_augmentation.py": [
        "test_kinds_of_crops_are_tried_in_random_order[options1-shares1]",
        "test_kinds_of_crops_are_tried_in_random_order[options2-shares2]",
    ],
    "tests/io/test_prefetch.py": [
        "test_a_call_that_never_ends_does_not_keep_the_process",
        "test_processes_end_while_batches_are_computed",
    ],
    "tests/kvstore/test_dist.py": [
        "test_a_signal_ends_workers_at_once",
        "test_a_worker_that_ends_ends_the_others",
        "test_a_worker_that_has_a_signal_stops_all_and_the_checkpoint_goes_on",
        "test_a_worker_that_stops_on_purpose_stops_all_and_leaves_nothing_to_train",
        "test_one_worker_trains_as_a_process_alone_and_donates",
        "test_optimizer_states_in_parts_of_all_workers",
        "test_statistics_masks_metrics_and_validation_are_those_of_all_workers",
        "test_training_has_the_numbers_of_one_process_with_as_many_replicas",
        "test_workers_of_other_launchers_have_a_watch",
        "test_workers_that_differ_are_refused_before_the_first_epoch",
        "test_workers_with_other_shapes_are_refused",
    ],
    "tests/module/test_mishaps.py": [
        "test_a_monitor_stays_through_other_batch_sizes",
    ],
    "tests/module/test_mixed_precision.py": [
        "test_digits_are_learned_as_well",
    ],
    "tests/module/test_model_parallel.py": [
        "test_compressed_gradients",
        "test_replicas_each_over_devices_of_its_own",
    ],
    "tests/module/test_module.py": [
        "test_a_monitor_sees_every_operator",
    ],
    "tests/module/test_other_modules.py": [
        "test_buckets_train_one_set_of_parameters[adam]",
    ],
    "tests/module/test_resume.py": [
        "test_an_interrupted_training_has_the_same_bits[apart]",
        "test_an_interrupted_training_has_the_same_bits[buckets]",
        "test_other_number_of_replicas_goes_on_to_rounding",
    ],
    "tests/module/test_steps_per_call.py": [
        "test_a_method_of_ones_own_is_called_for_each_batch",
        "test_one_program_for_all_calls",
        "test_the_same_numbers[one]",
    ],
    "tests/module/test_weights.py": [
        "test_weights_by_class_are_weights_of_samples",
    ],
    "tests/ndarray/test_files.py": [
        "test_memory_is_that_of_the_arrays",
    ],
    "tests/ops/test_losses.py": [
        "test_ctc_label_lengths_alone",
        "test_ctc_without_an_alignment",
    ],
    "tests/ops/test_regions.py": [
        "test_forms_of_both_kinds_of_device_agree_and_the_gradient_is_the_transpose",
    ],
    "tests/ops/test_slicing.py": [
        "test_a_slice_written_back_changes_nothing",
        "test_what_is_cut_apart_joins_again",
    ],
    "tests/step/test_across_devices.py": [
        "test_a_batch_that_the_devices_do_not_divide",
        "test_a_monitor_sees_the_same",
        "test_a_training_goes_on_by_the_other",
    ],
    "tests/step/test_contexts_apart.py": [
        "test_modules_that_share_parameters_follow_a_change_to_and_fro",
    ],
    "tests/step/test_counts.py": [
        "test_a_steady_batch_takes_as_many_calls_for_any_number_of_parameters",
    ],
    "tests/step/test_fused.py": [
        "test_an_optimizer_of_the_users_own_is_called[pmap]",
        "test_an_optimizer_of_the_users_own_is_called[vmap]",
    ],
    "tests/step/test_interrupts.py": [
        "test_an_interrupt_at_any_instant_leaves_the_state_before_the_step_or_after_it",
        "test_an_interrupted_compilation_is_done_again",
    ],
    "tests/step/test_replicas.py": [
        "test_a_batch_that_cannot_be_cut_evenly_is_cut_unevenly",
        "test_a_monitor_sees_uneven_slices_too",
        "test_contexts_that_train_apart_refuse_what_needs_one_copy",
    ],
    "tests/step/test_residuals.py": [
        "test_a_lost_pullback_is_traced_again[mesh]",
        "test_a_lost_pullback_is_traced_again[pmap]",
        "test_a_lost_pullback_is_traced_again[vmap]",
    ],
    "tests/step/test_shards.py": [
        "test_buckets_share_parts",
        "test_files_are_those_of_whole_states",
        "test_several_steps_in_a_program_and_updates_apart",
    ],
    "tests/step/test_sparse_steps.py": [
        "test_fit_with_csr_batches_and_several_steps_a_call",
    ],
    "tests/symbol/test_control_flow.py": [
        "test_dropout_in_a_loop_compiles_with_xlas_default_options",
    ],
    "tests/symbol/test_layout.py": [
        "test_nobody_sees_the_order[_branches-True]",
        "test_products_of_16_bits[bfloat16]",
    ],
    "tests/symbol/test_recompute.py": [
        "test_numbers_are_the_same_where_outputs_are_read_first",
        "test_the_compiled_step_needs_less_memory",
    ],
    "tests/symbol/test_reroll.py": [
        "test_16_bits",
        "test_the_same_numbers[short]",
    ],
    "tests/test_behaviour.py": [
        "test_the_answer_is_the_same[contexts_apart]",
        "test_the_answer_is_the_same[executor_managers]",
        "test_the_answer_is_the_same[gradients_in_monitors]",
        "test_the_answer_is_the_same[losses_behind_stops_in_networks]",
        "test_the_answer_is_the_same[module_groups]",
        "test_the_answer_is_the_same[states_of_frozen_layers]",
    ],
    "tests/test_crash_safety.py": [
        "test_a_file_that_others_cut_while_it_is_read",
        "test_a_folder_that_cannot_be_written_to",
        "test_a_killed_writer_leaves_checkpoints_that_load",
        "test_an_open_file_stays_the_one_that_was_opened",
    ],
    "tests/test_custom_operator.py": [
        "test_a_monitored_step_calls_the_operator_once_a_replica",
    ],
    "tests/test_docs.py": [
        "test_examples_in_pages",
        "test_examples_in_the_readme",
    ],
    "tests/test_fork.py": [
        "test_forked_children",
    ],
    "tests/test_fuzz_readers.py": [
        "test_a_cut_file_is_never_taken_for_a_whole_one[states]",
        "test_any_damage",
    ],
    "tests/test_hostile_files.py": [
        "test_a_small_npz_of_many_zeros",
        "test_entries_of_npz_files_that_ask_for_much[brackets]",
        "test_npy_files_that_ask_for_much[brackets]",
        "test_states_of_brackets",
    ],
    "tests/test_imagenet_picture.py": [
        "test_bound_on_four_devices",
    ],
    "tests/test_lazy.py": [
        "test_a_graph_is_loaded_by_a_process_that_has_done_nothing_before",
        "test_modules_are_imported_without_collections_and_without_rooms_above_them",
        "test_the_switch_of_the_tuning_leaves_the_collector_alone",
        "test_whatever_is_asked_for_first_all_operators_are_there",
    ],
    "tests/test_monitor.py": [
        "test_a_process_that_finds_its_programs_on_disk_sees_the_same",
    ],
    "tests/test_recipes.py": [
        "test_train_digits_learns_draws_and_resumes",
    ],
    "tests/test_small_modules.py": [
        "test_debug_records_of_libraries_are_hidden_unless_wanted",
    ],
    "tests/test_source_rules.py": [
        "test_every_leave_to_wait_is_used",
        "test_importing_changes_no_setting_and_asks_for_no_device",
        "test_no_private_jax_and_no_global_settings",
        "test_nothing_waits_for_the_device_but_where_it_must",
        "test_only_the_command_line_prints",
        "test_work_leaves_the_settings_alone",
    ],
    "tests/tuning/test_allocator.py": [
        "test_a_large_executor_with_gradients_keeps_pages",
        "test_it_can_be_left_alone",
        "test_nothing_but_training_sets_it_up",
        "test_training_keeps_pages_and_says_so_once",
    ],
}
"""Tests that start processes, damage whole files, or train for seconds, by file.

Functions, or single tests by the name that pytest shows.
"""

THOROUGH = {
    "tests/commands/test_launch.py": ["test_no_worker_is_left_on_other_machines[2]"],
    "tests/contrib/test_quantization.py": [
        "test_like_the_reference[deep-{'calib_mode': 'entropy'}]",
        "test_like_the_reference[plain-{'calib_mode': 'entropy', 'quantized_dtype': 'auto', "
        "'num_calib_examples': 16}]",
    ],
    "tests/kvstore/test_attack_workers.py": [
        "test_a_killed_worker_is_named_and_the_training_goes_on_as_one_process"
    ],
    "tests/kvstore/test_dist.py": [
        "test_a_signal_ends_workers_at_once[by hand]",
        "test_a_worker_that_ends_ends_the_others[exits]",
        "test_a_worker_that_ends_ends_the_others[raises]",
        "test_the_recipe_has_the_numbers_of_one_process",
        "test_workers_of_other_launchers_have_a_watch[connected]",
    ],
    "tests/module/test_mixed_precision.py": ["test_digits_are_learned_as_well[convnet]"],
    "tests/module/test_model_parallel.py": [
        "test_replicas_each_over_devices_of_its_own[dictionaries-None]",
        "test_replicas_each_over_devices_of_its_own[lists-None]",
    ],
    "tests/module/test_resume.py": ["test_killed_at_random_moments_it_ends_with_the_same_bits"],
    "tests/module/test_steps_per_call.py": [
        "test_counts_rates_and_noise_go_on[ftml]",
        "test_the_same_numbers[pmap]",
    ],
    "tests/step/test_interrupts.py": [
        "test_a_signal_handler_may_read_at_any_instant[at_once-outputs-7]",
        "test_a_signal_handler_may_read_at_any_instant[train-outputs-9]",
        "test_an_interrupt_at_any_instant_leaves_the_state_before_the_step_or_after_it[vmap]",
    ],
    "tests/step/test_laziness.py": ["test_any_order_of_calls"],
    "tests/test_attacks.py": [
        "test_steps_on_several_devices_do_not_stop_each_other",
        "test_threads_lose_nothing[modules]",
        "test_threads_lose_nothing[readers]",
        "test_threads_lose_nothing[replicas]",
    ],
    "tests/test_benchmarks.py": ["test_the_command_measures_and_keeps_figures"],
    "tests/test_benchmarks_layers.py": ["test_the_command_keeps_other_rows"],
    "tests/test_crash_safety.py": [
        "test_a_killed_writer_leaves_checkpoints_that_load[many]",
        "test_a_killed_writer_leaves_records_that_were_written[many]",
    ],
    "tests/test_fuzz_readers.py": ["test_damage_everywhere", "test_much_damage"],
    "tests/test_imagenet_picture.py": ["test_one_update"],
    "tests/test_recipes.py": [
        "test_a_generator_draws_the_digits_that_are_wanted",
        "test_a_language_model_learns_more_than_how_frequent_words_are",
        "test_the_same_seed_gives_the_same_accuracy",
        "test_two_devices[resnet]",
    ],
    "tests/tuning/test_config.py": ["test_a_tuned_and_a_plain_run_give_the_same_numbers"],
}
"""Tests that repeat others, by file, likewise.

Attacks, damage and benchmarks are the short forms of tools, in processes of their own; ResNet-50
and the two longest recipes train what smaller ones do too.
"""

ONE_SLOW_IN = {
    "tests/module/test_resume.py::test_streams_of_a_users_data_go_on": 3,
    "tests/ndarray/test_sparse_values.py::test_a_trained_model": 3,
    "tests/ops/test_mixed_types.py::test_16_bits_beside_float32": 3,
    "tests/ops/test_on_host.py::test_random_numbers_are_those_of_xla": 3,
    "tests/ops/test_ops.py::test_shapes": 4,
    "tests/optimizer/test_tree_rule.py::test_same_as_eager_updates": 3,
    "tests/step/test_fused.py::test_every_order_of_calls_gives_the_same_parameters": 2,
    "tests/symbol/test_reroll.py::test_the_same_numbers": 2,
    "tests/test_lazy.py::test_whatever_is_asked_for_first_all_operators_are_there": 2,
    "tests/test_trajectories.py::test_trajectory": 2,
    "tests/tuning/test_allocator.py::test_it_can_be_left_alone": 2,
    "tests/tuning/test_cpu_convolution.py::test_an_operator_by_itself": 2,
    "tests/tuning/test_cpu_convolution.py::test_few_channels": 2,
}
"""Tables whose rows resemble each other: of the slow ones, one in that many is in ``make test``."""


def is_slow(item):
    """``item.get_closest_marker("slow")`` as a truth value."""
    return item.get_closest_marker("slow") is not None


def mark(items):
    """Mark the tests of the tables, and those with ``thorough`` as ``slow``."""
    seen, slow = dict.fromkeys(ONE_IN, 0), dict.fromkeys(ONE_SLOW_IN, 0)
    for item in items:
        function = item.nodeid.partition("[")[0]
        file, _, name = function.partition("::")
        for table in {file, function} & ONE_IN.keys():
            if seen[table] % ONE_IN[table]:
                item.add_marker(pytest.mark.slow)
            seen[table] += 1
        if {name, item.name} & set(THOROUGH.get(file, ())):
            item.add_marker(pytest.mark.thorough)
        left_out = {name, item.name} & set(LEFT_OUT.get(file, ()))
        if left_out or item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.slow)
        if function in slow and is_slow(item):
            if slow[function] % ONE_SLOW_IN[function]:
                item.add_marker(pytest.mark.thorough)
            slow[function] += 1
