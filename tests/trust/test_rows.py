"""Each row of the mission (DESIGN, section 1) and the tests that prove it; a row whose test is gone fails here."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = {
    "A1 pushed on every user turn": "agents/test_dialects.py::test_input_to_output",
    "A2 meaning and recency are two systems": "unit/test_digest.py::test_latest_only_when_fixed",
    "A3 four slots": "unit/test_digest.py::test_the_whole_text",
    "A4 fixed slots are always there": "trust/test_freshness.py::test_a_prohibition_never_lapses_by_age_alone",
    "A5 adopted once, by content": "unit/test_digest.py::test_equal_content_is_shown_once_wherever_it_lies",
    "A6 hard budget": "unit/test_digest.py::test_a_digest_that_just_fits_is_whole",
    "A7 byte-stable": "trust/test_mission.py::test_equal_commits_give_equal_bytes_in_any_clone_process_and_year",
    "A8 cut order": "unit/test_digest.py::test_cut_order_is_fixed",
    "A9 failing never stops the conversation": "trust/test_mission.py::test_a_bug_is_silence_and_a_line_in_the_log",
    "A9 whatever the agent says": "trust/test_fuzz.py::test_no_hook_input_breaks_the_hook",
    "A9 exit 0": "trust/test_mission.py::test_a_hook_in_a_broken_repository_ends_with_0_and_says_nothing",
    "A9 own deadline": "trust/test_sessions.py::test_what_came_too_late_was_not_given",
    "F1 no API calls": "test_startup.py::test_client_loads_sockets_and_itself_and_nothing_else",
    "F2 BM25 parameters and field weights": "engine/test_scores.py::test_bm25f_is_the_plain_formula",
    "F3 Chinese and Japanese": "index/test_search.py::test_the_right_note_comes_first",
    "F4 point look-ups": "index/test_lexical.py::test_the_vectorised_scorer_ranks_as_whoosh_does",
    "F5 title, sentence, tags": "unit/test_digest.py::test_the_whole_text",
    "F5 5 entries, 700 characters": "trust/test_mission.py::test_by_default_at_most_five_entries_in_700_characters",
    "F6 heals itself": "git/test_commits.py::test_without_any_hook_the_question_catches_up",
    "F7 trigger rules": "unit/test_gate.py::test_small_talk_closes_the_gate",
    "F8 a miss is silent": "index/test_search.py::test_nothing_is_injected_when_nothing_fits",
    "F9 the user speaks": "agents/test_answers.py::test_every_golden_input_is_answered_from_the_notes",
    "F9 the agent asks": "agents/test_mcp.py::test_recall_names_the_place",
    "F9 the next turn completes it": "trust/test_mission.py::test_the_next_turn_brings_what_this_one_had_no_room_for",
    "F10 sections with place": "unit/test_chunks.py::test_sections",
    "F11 strong hits": "index/test_search.py::test_a_rare_pair_is_a_strong_word_and_its_characters_apart_are_not",
    "F12 entity cards": "trust/test_entities.py::test_a_card_says_who_and_where",
    "F13 audit": "cli/test_observe.py::test_audit",
    "F14 directory weights": "trust/test_mission.py::test_directory_weights_are_applied_ones_own_over_the_built_in",
    "F15 what agents load anyway": "trust/test_mission.py"
    "::test_files_that_agents_load_by_themselves_are_no_notes_unless_one_says_so",
    "F16 build, q, stats": "cli/test_observe.py::test_stats",
    "F17 works for every agent": "hooks/test_agents_install.py::test_every_agent_comes_and_goes",
    "F18 opened only when needed": "agents/test_mcp.py::test_show_prints_the_section",
    "F18 the skill says so": "trust/test_mission.py::test_the_skill_says_to_ask_first_and_to_open_a_few_lines",
    "F18 as an entry names it": "cli/test_query.py::test_show_of_another_source_as_an_entry_prints_it",
    "L1 seven dimensions": "cli/test_observe.py::test_why_answers_the_seven_dimensions",
    "L2 static once, the rest by query": "trust/test_sessions.py"
    "::test_without_a_start_after_a_compaction_the_next_prompt_brings_it",
    "L2 every turn on request": "trust/test_sessions.py::test_static_every_turn_repeats_only_the_fixed_slots",
    "L3 when unsure, nothing": "cli/test_observe.py::test_why_names_the_gate_when_the_evidence_is_thin",
    "L4 identity": "trust/test_identity.py::test_without_an_identity_nothing_of_anybody_is_given",
    "L5 within a session": "trust/test_sessions.py::test_fifty_prompts_and_two_compactions_repeat_nothing",
    "L5 forgotten at compaction": "trust/test_sessions.py"
    "::test_after_a_compaction_every_agent_has_the_fixed_slots_once",
    "L5 given is what arrived": "trust/test_sessions.py::test_what_did_not_reach_the_agent_is_given_again",
    "L5 at its end": "trust/test_sessions.py::test_the_next_session_learns_where_the_last_one_stopped_once",
    "L5 across sessions": "trust/test_identity.py::test_a_profile_is_given_to_its_owner_only",
    "L6 freshness": "trust/test_freshness.py::test_a_stale_lesson_leaves_the_fixed_slots_and_is_found_by_content",
    "L6 superseded": "trust/test_freshness.py::test_the_successor_stands_for_what_it_replaces",
    "L6 expires": "trust/test_freshness.py::test_expires",
    "L7 the current turn is authoritative": "unit/test_digest.py::test_the_whole_text",
    "L8 compressed": "unit/test_digest.py::test_entry_is_capped_and_its_place_is_not",
    "L9 visible": "cli/test_observe.py::test_log",
    "L9 whether it was used": "cli/test_observe.py::test_what_is_opened_after_it_was_given_counts_as_used",
    "moat 1 one index for every commit": "git/test_history.py::test_checkout_of_a_commit_seen_before_indexes_nothing",
    "moat 3 diff": "cli/test_observe.py::test_diff",
    "moat 4 the content being committed": "git/test_commits.py::test_partial_commit_indexes_what_was_committed",
    "moat 5 a digest names its commit": "unit/test_digest.py::test_the_whole_text",
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_proof(row: str) -> None:
    file, _, name = ROWS[row].partition("::")
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
