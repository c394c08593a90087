"""Processes that are forked while threads grade."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rubricate.errors import JournalError
from rubricate.run._journal import Journal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

BESIDE_THREADS = """
import faulthandler, os, sys, threading, time
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

rubric = Rubric([Criterion(name='speed', requirement='Gives roughly 300000 kilometres')])
folder, ended, problems = sys.argv[1], threading.Event(), []

def graded(name, **options):
    dataset = RubricDataset('How fast is light?', rubric)
    for number in range(3):
        dataset.add_item(f'{name} {number}')
    judge = lambda messages: {'reason': 'r', 'verdict': 'MET'}
    return rubricate.grade(dataset, judge, cache=folder + '/cache', **options).failed

def work(name):
    number = 0
    while not ended.is_set():
        number += 1
        run_dir = f'{folder}/{name}-{number}' if number % 4 == 0 else None
        try:
            problems.extend(['failed'] * graded(f'{name} {number}', run_dir=run_dir))
        except Exception as error:
            problems.append(repr(error))

threads = [threading.Thread(target=work, args=(name,)) for name in 'ab']
for thread in threads:
    thread.start()
time.sleep(0.5)
codes = []
for number in range(12):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(40, exit=True)
        os._exit(graded(f'child {number}') + graded('the same'))
    codes.append(os.waitpid(child, 0)[1])
ended.set()
for thread in threads:
    thread.join()
print(codes, problems)
"""


def test_processes_that_are_forked_while_threads_grade_judge_and_end(tmp_path):
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BESIDE_THREADS]
    done = subprocess.run(
        [*program, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.stdout, done.stderr) == (f"{[0] * 12} []\n", "")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pytest's own threads
@pytest.mark.parametrize("shared", [True, False])
def test_a_journal_goes_on_after_a_fork_and_stays_its_own(tmp_path, shared):
    path = tmp_path / "journal.sqlite"
    with Journal(path, shared=shared) as journal:
        journal.put("a", {"n": 1})
        journal.commit()
        journal.put("b", {"n": 2})
        if (child := os.fork()) == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert journal.get_many(["a", "b"]) == {"a": {"n": 1}, "b": {"n": 2}}
        journal.commit()
        if not shared:
            with pytest.raises(JournalError, match="another process"):
                Journal(path)
    with Journal(path, shared=shared) as journal:
        assert journal.get_many(["a", "b"]) == {"a": {"n": 1}, "b": {"n": 2}}
