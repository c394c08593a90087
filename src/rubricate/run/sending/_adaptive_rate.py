"""How fast an endpoint may be asked: as its users say, and as learnt from its answers.

It starts at the concurrency that it is given and learns from there:

- Most requests refused with 429 tell that the endpoint's allowance is used up (a few between many
  answers do not: they are sent again, and nothing is slowed). What was accepted between two 429s is
  the rate at which it fills again, so requests are paced to that from then on, and the pace grows
  by hundredths until the next one. While nothing at all is let through (the allowance is whole
  again at a fixed time) there is nothing to measure, and requests look whether it is, after waits
  that double. The requests in flight shrink by a fifth and grow by one for
  each round of answers. Where 429s come all the same, they do not depend on the pace, and it is
  given up.
- Headers that tell what is left of an allowance set the pace before there is any 429.
- A request that has no answer in time, while few others were answered, tells that the endpoint
  works them off one after another: so many go at once from then on as were answered in half the
  time, and more only while answers are that quick.
- Failures in a row, with no answer between, are an outage: one request at a time is let through to
  see whether it is over, after waits that double.

All rates are those of the whole key. Where several processes share it (`_shares`), each keeps to
its part of them, and what others were answered counts where the pace is measured.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rubricate.judge import Quota
from rubricate.rubric import Usage
from rubricate.run.sending._latency import Latencies
from rubricate.run.sending._options import Limits

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Report, Share

# What half and double do was tried with benchmarks/judge/pacing.py: 2,000 requests to each of its
# endpoints. "The same" is the time of each run within 0.02, and its refusals.

INFINITE = float("inf")
FIRST_BURST, FIRST_RATE, FIRST_MORE, FIRST_ANSWERS = 20, 300.0, 0.5, 64
"""How a run starts: so many requests at once, then so many a second, and such a share more for each
answer, until so many answers came. An endpoint with a low limit has refused by then, and few
requests were in vain. At half the rate, a run at an endpoint that takes 100 a second takes 1.7
times as long instead of 1.1; at double, an endpoint that takes 40 a second refuses half as many
again. Of the others, half and double are the same but for a run at 20 a second, to which half the
burst brings 4 refusals a request."""
FIRST_WAVE, FIRST_RATE_MOST, FIRST_STEP = 80.0, 1600.0, 4.0
"""Where the first answer is quick, the rate of the start is higher: so many requests in the time
that it took, so many a second at most, and so many at once: a program that stands still for a
moment does not make up for it. The first refusal takes the rate back. At half or double, runs at a
quick endpoint take 0.02 longer or shorter."""
FAILURES_IN_A_ROW = 5
"""Failures with no answer between that are taken for an outage. No simulation has failures; at
half, two connections that break at once pause a run, at double, more requests fail in vain."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two tries while there is an outage; they double from the first to the longest.
At half or double, runs at an endpoint whose allowance is whole again each minute take 0.02 longer
or shorter."""
GROWTH, GROWTH_A_SECOND, GROWTH_AT_FIRST = 0.0001, 0.02, 0.2
"""By what share of itself the pace grows with each answer, and in a second at least (the last
until it has been measured once); twice that after 500 more answers without a refusal, and so on.
At half of GROWTH_A_SECOND, a run whose endpoint doubles its limit takes 1.26 times as long as it
could, instead of 1.21; at double, 1.09, and an endpoint of 10 a second refuses half as many again.
Half and double of the others are the same here, but tests/run/test_limits.py needs the first
growth; GROWTH counts from 200 requests a second on."""
SHORT, FEW = 0.5, 16
"""Between two refusals so many seconds apart, or with so many answers, the rate is measured. Half
and double are the same."""
LEAST_RATE = 0.1
"""Requests a second that are sent at least, however often the endpoint refuses. Half and double are
the same: no simulated endpoint allows so few."""
RECENT, MOST_REFUSED = 10, 6
"""Where so many of so many requests that were sent one after the other were refused, most are: the
wait that the endpoint asks for is for all, and there is a rate to be learnt. (Before so many were
sent, half of those that came back are enough. Refusals come back sooner than answers do.) With 6 of
5, or 12 of 10, nothing is ever learnt, and five times as many are refused. With 6 of 20 a tenth as
many are, but a run at an endpoint that refuses 30 % by chance takes 7.6 times as long as it could
instead of 4.3. With 3 of 10 it is the same as with 6."""
ANSWERED = 0.25
"""Where other processes are answered at such a share of their pace, refusals here are no sign that
nothing gets through. At half, one process that is answered seldom keeps the others from waiting; at
double, an even share of four does not."""
REFUSED_AGAIN = 25
"""Refusals are reported at once, but so often at most in the time for which a share is granted: 20
a second. At half, a pace is cut later in other processes; at double, the store is used twice as
often while an endpoint refuses."""
STALE = 0.5
"""Seconds for which answers of other processes are reckoned on from what was heard last: twice the
time between two exchanges. At half, one exchange that is late counts as silence; at double, a
process that was killed is counted for a second."""
WITHOUT_SHARE, OVERDUE = 0.05, 2.0
"""Seconds until somebody looks again whether a share has been heard of; and for which that is
waited for, from when this process reported. At half of OVERDUE, a database under load is taken for
away; at double, a run stands still for 4 s when it is."""
USELESS_AFTER, USELESS_SHARE = 40, 0.05
"""The pace is given up where after so many answers more than this share is still refused, of the
requests that were sent since it was last learnt. Half and double are the same, also for an endpoint
that refuses a tenth by chance."""


class TokenBucket:
    """An allowance that fills at a rate, up to what a second brings (at least 1 unit).

    Attributes:
        rate: units a second, of all processes that share the allowance.
        share: this process's part of it, from 0 to 1.
    """

    __slots__ = ("_at", "level", "rate", "share", "size")

    def __init__(self, rate: float, *, level: float, size: float | None = None) -> None:
        self.rate = rate
        self.size = max(1.0, rate) if size is None else size
        self.level = level
        self.share = 1.0
        self._at = time.monotonic()

    def wait(self, now: float, amount: float) -> float:
        """Seconds until there is so much; a full bucket is enough for any amount."""
        rate, size = self.rate, self.size
        if self.share != 1.0:
            rate, size = rate * self.share, max(1.0, size * self.share)
        if self.level < size:
            self.level = min(size, self.level + (now - self._at) * rate)
        self._at = now
        missing = min(amount, size) - self.level
        if missing <= 0.0:
            return 0.0
        return missing / rate if rate else float("inf")

    def take(self, share: float) -> None:
        """Have another part of the allowance."""
        self.share = share
        self.level = min(self.level, max(1.0, self.size * share))


def _planned_by(
    bucket: TokenBucket | None, quota: tuple[float, float, float] | None, in_flight: int
) -> TokenBucket | None:
    """The bucket that keeps to what an endpoint says is left of an allowance.

    Args:
        bucket: the one so far; it stays where the endpoint says nothing.
        quota: (the allowance, what is left of it, seconds until it is whole again).
        in_flight: how many requests are on the way that are not reckoned in yet.

    Returns:
        None while more than half of the allowance is left.
    """
    if quota is None:
        return bucket
    limit, left, full_in = quota
    missing = limit - left
    if left > 0.5 * limit or missing <= 0 or full_in <= 0:
        return None
    return TokenBucket(missing / full_in, level=left - in_flight, size=max(1.0, left))


@dataclass(slots=True)
class Concurrency:
    """How many requests may be in flight: as the runs say, and as learnt.

    Attributes:
        most: as the runs say.
        room: as learnt. It grows with answers, up to `threshold` by one each, beyond it by one for
            each round.
        in_flight: how many are.
        stuck: how many of those were sent before an outage, and may take their time to fail.
        quick: seconds; slower answers give no more room.
    """

    most: int = 0
    room: float = INFINITE
    in_flight: int = 0
    stuck: int = 0
    quick: float = INFINITE
    threshold: float = INFINITE

    def cut(self, room: float) -> None:
        """Have room for so many, at least for one, from here on."""
        self.room = self.threshold = max(1.0, room)

    def back(self) -> None:
        """A request is not in flight any more."""
        self.in_flight -= 1
        if self.stuck:
            self.stuck -= 1


@dataclass(slots=True)
class Outage:
    """Whether the endpoint answers anybody, and until when nothing is let through.

    Attributes:
        since: when the outage began (monotonic clock); None while there is none.
        paused_until: until when nothing is let through (monotonic clock); 0 if never.
        asked_until: the same as far as the endpoint has asked for it.
        is_noted: whether anything has failed, or was paused for, since the last answer.
    """

    since: float | None = None
    paused_until: float = 0.0
    asked_until: float = 0.0
    is_noted: bool = False
    _failures: int = 0
    _pause: float = 0.0

    def pause(self, now: float, seconds: float) -> None:
        """Let nothing through for so long."""
        self.paused_until = max(self.paused_until, now + seconds)

    def pause_longer(self, now: float) -> None:
        """Let nothing through for twice as long as the last time."""
        self.is_noted = True
        self._pause = self._pause or FIRST_PAUSE
        self.pause(now, self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def ends(self) -> None:
        """The endpoint answers."""
        self._failures = 0
        self._pause = 0.0
        self.is_noted = False
        self.since = None

    def failed(self, now: float, *, several: bool, is_news: bool) -> bool:
        """A request got no answer; whether that is an outage, of which this says something new."""
        self._failures += 1
        self.is_noted = True
        if self._failures < FAILURES_IN_A_ROW or not several:
            return False
        if self.since is None:
            self.since = now
        elif not is_news:
            return False
        else:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._pause = self._pause or FIRST_PAUSE
        self.pause(now, self._pause)
        return True


@dataclass(slots=True)
class Refusals:
    """Whether most of the last requests were refused (429).

    Attributes:
        sent: when the last requests were sent (monotonic clock).
        outcomes: of the last, whether each was refused.
    """

    sent: deque[float] = field(default_factory=partial(deque, maxlen=4 * RECENT))
    outcomes: deque[bool] = field(default_factory=partial(deque, maxlen=RECENT))
    _refused: deque[float] = field(default_factory=partial(deque, maxlen=MOST_REFUSED))

    def add(self, sent: float) -> None:
        """A request sent then was refused."""
        self.outcomes.append(True)
        self._refused.append(sent)

    @property
    def are_recent(self) -> bool:
        """Whether any of the last requests was refused."""
        return True in self.outcomes

    @property
    def are_most(self) -> bool:
        """Whether most were, of those sent one after the other."""
        if len(self.sent) < RECENT:
            return 2 * sum(self.outcomes) >= len(self.outcomes)
        first = min(self._refused)
        since = sum(moment >= first for moment in self.sent)
        return len(self._refused) == MOST_REFUSED and since <= RECENT


@dataclass(slots=True)
class Pace:
    """The requests a second that an endpoint takes, learnt from its refusals.

    Attributes:
        bucket: what lets requests through at that rate; None while there is no pace. Until
            `is_learnt` it is that of a run's start.
        is_learnt: whether the start is over.
        measured: the highest rate that was measured between refusals; 0 where none was.
        answers: requests accepted, ever.
        mark: since when those are counted by which the rate is measured (monotonic clock).
    """

    mark: float
    bucket: TokenBucket | None = None
    is_learnt: bool = False
    measured: float = 0.0
    answers: int = 0
    _since_mark: int = 0
    _since_cut: int = 0  # answers, from when the pace grows faster and faster
    _answered: int = 0  # of requests sent since the pace was learnt
    _refused: int = 0
    _first_window: tuple[float, float] | None = None
    _again_at: int = 0  # answers, before which nothing can be learnt

    @property
    def learnt(self) -> TokenBucket | None:
        """The bucket, unless it is that of a run's start."""
        return self.bucket if self.is_learnt else None

    @property
    def is_useless(self) -> bool:
        """Whether the pace was given up a short while ago."""
        return self.answers < self._again_at

    def accepted(self, sent: float, seconds: float, refusals: Refusals, *, is_new: bool) -> None:
        """A request was answered; `is_new` where it was sent since the pace was learnt last."""
        self.answers += 1
        self._since_cut += 1
        if sent >= self.mark:
            self._since_mark += 1
        else:
            self.count_first(1)
        self._answered += is_new
        bucket = self.bucket
        if not self.is_learnt:
            if refusals.are_recent:
                return
            if self.answers >= FIRST_ANSWERS:
                self.is_learnt, self.bucket = True, None
            elif bucket is not None:
                bucket.level += FIRST_MORE
                if self.answers == 1:
                    first = FIRST_WAVE / seconds if seconds > 0 else FIRST_RATE_MOST
                    bucket.rate = max(FIRST_RATE, min(FIRST_RATE_MOST, first))
                    bucket.size = FIRST_STEP
        elif bucket is not None:
            a_second = GROWTH_A_SECOND if self.measured else GROWTH_AT_FIRST
            share = max(GROWTH, a_second / bucket.rate)
            bucket.rate *= 1.0 + min(0.1, share * 2.0 ** min(20, self._since_cut // 500))
            bucket.size = max(1.0, bucket.rate)

    def count_first(self, more: int) -> None:
        """Count requests in that were sent before the first refusal and accepted after it.

        The first estimate was too low.
        """
        if self._first_window is not None and self.bucket is not None:
            count, elapsed = self._first_window
            self._first_window = count + more, elapsed
            self.bucket.rate = self.bucket.size = max(1.0, 0.95 * max(FEW, count + more) / elapsed)

    def refused(self) -> None:
        """A request sent since the pace was learnt last was refused."""
        self._refused += 1

    def rate_after(self, now: float, in_flight: int, others: _Others) -> float | None:
        """The rate that a refusal now shows; 0 to give the pace up, None for as before.

        It is 95 % of that of the answers since the last one.
        """
        elapsed = max(0.0, now - self.mark)
        count = max(1.0, self._since_mark + others.since_mark(now))
        if not self.is_learnt or self.bucket is None:
            self.is_learnt = True
            elapsed = max(elapsed, 1.0)
            self._first_window, self.measured = (count, elapsed), 0.0
            rate = max(FEW, count) / elapsed
            return max(LEAST_RATE, 0.95 * rate)
        count += in_flight + others.in_flight - 1  # most of those on the way will be answered
        if elapsed < SHORT and (count < FEW or others.count):
            # Its answers count with the next ones; others' are known a little later.
            self.bucket.level = 0.0
            return None
        if self.measured == 0.0:
            rate = self.measured = count / elapsed
            self.forget_window()
        else:
            answered = self._answered + self._refused
            enough = USELESS_AFTER * min(4, 1 + others.count)  # others cause some of them
            if answered >= enough and self._refused > USELESS_SHARE * answered:
                return 0.0
            self.measured = max(self.measured, count / elapsed)
            rate = max(count / elapsed, 0.5 * self.measured)
        return max(LEAST_RATE, 0.95 * rate)

    def is_shut(self, now: float, others: _Others) -> bool:
        """Whether nothing got through since the last refusal: there is nothing to measure."""
        is_paced = self.is_learnt and self.bucket is not None
        return is_paced and self._since_mark + others.since_mark(now) < 1.0

    def forget_window(self) -> None:
        """Count anew what is refused at the pace."""
        self._first_window = None
        self._answered = self._refused = 0

    def begin(self, bucket: TokenBucket, mark: float) -> None:
        """Keep to another rate."""
        self.bucket = bucket
        self.mark, self._since_mark = mark, 0

    def give_up(self) -> None:
        """Keep to no rate, for a while."""
        self.bucket = None
        self._again_at = self.answers + 10 * USELESS_AFTER

    def is_cut(self) -> None:
        """Grow slowly again."""
        self._since_cut = 0

    def others_accepted(self, more: int) -> None:
        """Grow fast sooner: so many requests of other processes were accepted."""
        self._since_cut += more


class _Others:
    """What is known of other processes that send to the endpoint with the same key.

    Attributes:
        count: how many there are.
        in_flight: how many requests of theirs are in flight.
        more: how many more were accepted than were known before.
        rate: how many are accepted, a second.
        requests, tokens: a second, the lowest that their users say; an empty list for none.
    """

    def __init__(self) -> None:
        self.count = self.in_flight = self.more = 0
        self.requests: list[float] = []
        self.tokens: list[float] = []
        self.rate = self._accepted = self._marked = 0.0
        self._at = time.monotonic()

    def update(self, share: Share, now: float, *, is_new: bool) -> None:
        before = self._accepted
        if is_new:  # what is counted may have begun anew meanwhile
            self._marked += share.accepted - before
        self.more = max(0, round(share.accepted - before)) if not is_new else 0
        self.count, self.in_flight = share.others, share.in_flight
        self._accepted, self.rate, self._at = share.accepted, share.rate, now
        self.requests = [] if share.requests is None else [share.requests]
        self.tokens = [] if share.tokens is None else [share.tokens]

    def _by(self, now: float) -> float:
        return self._accepted + self.rate * min(STALE, now - self._at)

    def mark(self, now: float) -> None:
        """Count from here on."""
        if self.count:
            self._marked = self._by(now)

    def since_mark(self, now: float) -> float:
        """How many requests of theirs were accepted since then, about."""
        return max(0.0, self._by(now) - self._marked)


class _Reported:
    """What other processes know, from when.

    Attributes:
        at: when this process reported last.
        answers: how many requests had been accepted.
        rate: the pace; None where there was none.
        used: the part of the key's allowances that is used, as of about the last second.
        learnt: how often the key's pace had been measured.
        has_learnt: whether it was measured here since.
        reports_learnt: whether that is being reported.
        was_refused: whether a request was refused since.
        not_before: when that is reported at the earliest.
    """

    def __init__(self, now: float) -> None:
        self.at = now
        self.answers = self._reports_answers = 0
        self.rate: float | None = None
        self.used = 0.0
        self.learnt = 0
        self.has_learnt = self.reports_learnt = self.was_refused = False
        self.not_before = now
        self._reporting_since: float | None = None

    def is_overdue(self, now: float) -> bool:
        """Whether others should have answered long ago."""
        return self._reporting_since is not None and now - self._reporting_since > OVERDUE

    def begin(self, now: float, answers: int) -> None:
        self.at, self._reports_answers = now, answers
        self._reporting_since, self.was_refused = now, False
        self.reports_learnt, self.has_learnt = self.reports_learnt or self.has_learnt, False

    def confirm(self, learnt: int, rate: float | None) -> None:
        self.answers, self.learnt, self.rate = self._reports_answers, learnt, rate
        self.reports_learnt, self._reporting_since = False, None


def _used(rate: float, buckets: Iterable[TokenBucket | None]) -> float:
    """The part of the smallest of these allowances that such a rate takes."""
    least = min((bucket.rate for bucket in buckets if bucket is not None), default=INFINITE)
    return rate / least


_NOBODY = _Others()
"""Who sends to the endpoint with the same key, where it is not shared."""


@dataclass(slots=True)
class _Shared:
    """This process's part of what the key allows.

    Attributes:
        part: from 0 to 1.
        ends: until when it is granted (monotonic clock); 0 before it has been heard of.
        others: the other processes.
        reported: what they know of it; None where nothing is shared.
        let, let_tokens: requests let through since the last report, and their tokens.
    """

    part: float = 1.0
    ends: float = INFINITE
    others: _Others = _NOBODY
    reported: _Reported | None = None
    let: int = 0
    let_tokens: float = 0.0


class AdaptiveRate:
    """What is known of one endpoint, and when one more request may go.

    Attributes:
        latencies: how long answers take.
        concurrency: how many requests may be in flight.
        outage: whether it answers, and until when nothing is let through.
        refusals: how often it refuses.
        pace: the rate that it takes, as learnt.
        shared: the part of it that is this process's.
    """

    def __init__(self) -> None:
        self.latencies = Latencies()
        self.concurrency = Concurrency()
        self.outage = Outage()
        self.refusals = Refusals()
        self.pace = Pace(time.monotonic())
        self.shared = _Shared()
        self._runs: list[Limits] = []
        self._descriptors = INFINITE  # requests that there are file descriptors for
        self._last_cut = self.pace.mark  # what was sent before says nothing new
        # Allowances that users set, and that headers tell of: of requests, and of tokens.
        self._given: TokenBucket | None = None
        self._planned: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._planned_tokens: TokenBucket | None = None
        self._reply_tokens = 100.0

    @property
    def is_joined(self) -> bool:
        """Whether a run asks this endpoint."""
        return bool(self._runs)

    def join(self, limits: Limits) -> None:
        """Take a run in: the highest concurrency and the lowest rates of all that run count."""
        self._runs.append(limits)
        self._agree()

    def leave(self, limits: Limits) -> None:
        """Let a run go."""
        self._runs.remove(limits)
        if not self._runs:
            self._descriptors = INFINITE
        self._agree()

    def lacks_descriptors(self) -> None:
        """A request found no file descriptor: fewer may be in flight, for as long as runs last."""
        most = max(1.0, 0.9 * (self.concurrency.in_flight - 1))
        self._descriptors = min(self._descriptors, most)
        self._agree()

    def _agree(self) -> None:
        """Keep to what all runs, and other processes, say."""
        most = 0
        for run in self._runs:
            most = max(most, run.concurrency)
        self.concurrency.most = int(min(most, self._descriptors))
        requests, tokens = self._own_rates
        requests, tokens = (
            requests + self.shared.others.requests,
            tokens + self.shared.others.tokens,
        )
        self._given = self._bucket_of(self._given, min(requests)) if requests else None
        self._tokens = self._bucket_of(self._tokens, min(tokens)) if tokens else None
        if not self.pace.is_learnt and self.pace.bucket is None:
            self.pace.bucket = TokenBucket(FIRST_RATE, level=FIRST_BURST, size=FIRST_BURST)
            if self.shared.part != 1.0:
                self._part(self.pace.bucket)

    @property
    def _own_rates(self) -> tuple[list[float], list[float]]:
        """Requests and tokens a second, as the runs say."""
        requests, tokens = list[float](), list[float]()
        for run in self._runs:
            requests += [run.requests_per_minute / 60.0] if run.requests_per_minute else ()
            tokens += [run.tokens_per_minute / 60.0] if run.tokens_per_minute else ()
        return requests, tokens

    def _bucket_of(self, bucket: TokenBucket | None, rate: float) -> TokenBucket | None:
        """The bucket for a rate; the one there is where it has that rate."""
        is_same = bucket is not None and bucket.rate == rate
        return self._part(bucket if is_same else TokenBucket(rate, level=max(1.0, rate)))

    def _part(self, bucket: TokenBucket | None) -> TokenBucket | None:
        """A bucket of the whole key's, of which this process has its part."""
        if bucket is not None and bucket.share != self.shared.part:
            bucket.take(self.shared.part)
        return bucket

    def tokens(self, characters: int) -> float:
        """About how many tokens a request of so many characters will take, with its reply."""
        return characters / 4 + self._reply_tokens

    @property
    def counts_tokens(self) -> bool:
        """Whether `wait` needs to know the tokens."""
        return self._tokens is not None or self._planned_tokens is not None

    @property
    def in_trouble(self) -> bool:
        """Whether the endpoint fails, or asks for a pause."""
        outage = self.outage
        return outage.since is not None or outage.paused_until > time.monotonic()

    @property
    def asked_to_wait(self) -> float:
        """Seconds for which nothing is let through because the endpoint has asked for it."""
        return max(0.0, self.outage.asked_until - time.monotonic())

    def wait(self, now: float, tokens: float) -> float:
        """Seconds until the next request may go.

        Infinite until one in flight is back. Where it has no share, or has it no more, nothing goes
        until one is heard of; where nobody answers, it keeps the one that it had.
        """
        places, shared = self.concurrency, self.shared
        in_flight = places.in_flight
        if in_flight >= places.most or in_flight >= max(1.0, places.room) + places.stuck:
            return INFINITE
        if now >= shared.ends:
            if shared.reported is not None and not shared.reported.is_overdue(now):
                return WITHOUT_SHARE
            self.keep_share()
        paused = self.outage.paused_until
        wait = paused - now if paused else 0.0
        for bucket in (self._given, self.pace.bucket, self._planned):
            if bucket is not None:
                wait = max(wait, bucket.wait(now, 1.0))
        if tokens:
            for bucket in (self._tokens, self._planned_tokens):
                if bucket is not None:
                    wait = max(wait, bucket.wait(now, tokens))
        return wait if wait > 0.0 else 0.0

    def let(self, tokens: float) -> None:
        """A request of about so many tokens is in flight."""
        self.concurrency.in_flight += 1
        self.shared.let += 1
        for bucket in (self._given, self.pace.bucket, self._planned):
            if bucket is not None:
                bucket.level -= 1.0
        if tokens:
            self.shared.let_tokens += tokens
            self._take_tokens(tokens)

    def _take_tokens(self, tokens: float) -> None:
        for bucket in (self._tokens, self._planned_tokens):
            if bucket is not None:
                bucket.level -= tokens

    # What comes of requests

    def accepted(self, sent: float, usage: Usage, expected: float = 0.0) -> None:
        """A request sent then was answered; `expected` tokens were reckoned with."""
        self.latencies.add(usage.seconds)
        self.refusals.outcomes.append(False)
        if self.outage.is_noted:
            self.is_alive()
        self.pace.accepted(sent, usage.seconds, self.refusals, is_new=sent >= self._last_cut)
        places = self.concurrency
        if places.room < places.most and usage.seconds <= places.quick:
            places.room += 1.0 if places.room < places.threshold else 1.0 / places.room
        if expected:
            self._reply_tokens += 0.05 * (usage.output_tokens - self._reply_tokens)
            self._take_tokens(usage.input_tokens + usage.output_tokens - expected)

    def is_alive(self) -> None:
        """The endpoint answered, be it with an error: there is no outage."""
        self.concurrency.stuck = 0
        self.outage.ends()

    def refused(self, sent: float, wait: float | None) -> None:
        """A request sent then was refused for its rate (429); the endpoint asks to wait so long.

        Refusals between many answers concern the one request, and so does the wait; of the rate
        they say something only once a pace has been learnt, or where most requests are refused.
        """
        pace, now = self.pace, time.monotonic()
        self.refusals.add(sent)
        if self.shared.reported is not None:
            self.shared.reported.was_refused = True
        is_general = self.refusals.are_most
        if wait and is_general and not self._others_are_answered:
            self.outage.pause(now, wait)
            self.outage.asked_until = max(self.outage.asked_until, now + wait)
        if not pace.is_learnt and pace.bucket is not None:
            pace.bucket.rate, pace.bucket.level = FIRST_RATE, min(0.0, pace.bucket.level)
        if not (is_general or pace.learnt is not None):
            return
        if sent < self._last_cut or pace.is_useless:
            return  # sent before what was learnt from the last one, or nothing can be learnt
        pace.refused()
        self.concurrency.cut(0.8 * self.concurrency.in_flight)
        self._cut_pace(now)
        self._last_cut = now
        pace.is_cut()

    @property
    def _others_are_answered(self) -> bool:
        """Whether other processes are answered about as often as the pace says."""
        shared, bucket = self.shared, self.pace.bucket
        rate = 2.0 if bucket is None else bucket.rate
        return shared.others.rate > ANSWERED * rate * (1.0 - shared.part)

    def _cut_pace(self, now: float) -> None:
        """Learn from a refusal."""
        pace, others, reported = self.pace, self.shared.others, self.shared.reported
        if pace.bucket is not None and pace.is_shut(now, others):
            pace.bucket.level = 0.0
            if self.refusals.are_most and not self._others_are_answered:
                self.outage.pause_longer(now)
            return
        rate = pace.rate_after(now, self.concurrency.in_flight, others)
        if rate is None:
            return
        if rate:
            self._begin_pace(rate, now)
        else:
            self.concurrency.room = INFINITE
            pace.give_up()
        if reported is not None:
            reported.has_learnt = True

    def _begin_pace(self, rate: float, now: float) -> None:
        others, bucket = self.shared.others, TokenBucket(rate, level=0.0)
        self._part(bucket)
        # While all wait, nothing is measured.
        self.pace.begin(bucket, max(now, self.outage.paused_until) if others.count else now)
        others.mark(now)

    def timed_out(self, sent: float, answered: int) -> None:
        """A request sent then had no answer in time; so many others were answered meanwhile."""
        now, concurrency = time.monotonic(), self.concurrency
        concurrency.quick = min(concurrency.quick, (now - sent) / 2)
        most = min(concurrency.in_flight, concurrency.room)
        if sent >= self._last_cut and answered < 2 * most:
            concurrency.cut(answered / 2)
            self._last_cut = now
            self.pace.is_cut()

    def planned(self, quota: Quota) -> None:
        """Keep to what the endpoint's headers say is left, from half of the allowance on."""
        in_flight = self.concurrency.in_flight
        self._planned = self._part(_planned_by(self._planned, quota.requests, in_flight))
        self._planned_tokens = self._part(_planned_by(self._planned_tokens, quota.tokens, 0))

    def failed(self, sent: float, *, several: bool = True) -> None:
        """A request sent then got no answer, or an error of the endpoint's own.

        Only where `several` different prompts failed this may be an outage.
        """
        now, concurrency, outage = time.monotonic(), self.concurrency, self.outage
        begins = outage.since is None
        if not outage.failed(now, several=several, is_news=sent >= self._last_cut):
            return
        if begins:
            concurrency.threshold = min(concurrency.room, concurrency.most)
        concurrency.room = 1.0
        concurrency.stuck = concurrency.in_flight - 1
        self._last_cut = now

    # Sharing

    @property
    def is_busy(self) -> bool:
        """Whether requests are in flight, or were let through since the last report."""
        return self.concurrency.in_flight > 0 or self.shared.let > 0

    @property
    def has_news(self) -> bool:
        """Whether a request was refused since the last report, and that was not just now."""
        reported = self.shared.reported
        return (
            reported is not None
            and reported.was_refused
            and time.monotonic() >= reported.not_before
        )

    @property
    def has_share(self) -> bool:
        """Whether it has its share, or shares with nobody."""
        return self.shared.ends > 0.0

    def report(self, now: float, *, waits: bool) -> Report:
        """What other processes are to know; `waits` where requests wait here.

        They know it when `apply` is.
        """
        from rubricate.run.sending._shares import Pace as SharedPace
        from rubricate.run.sending._shares import Report, wanted

        shared, bucket = self.shared, self.pace.learnt
        reported = self._reported(now)
        elapsed = max(0.01, now - reported.at)
        used = max(
            _used(shared.let / elapsed, (self._given, bucket, self._planned)),
            _used(shared.let_tokens / elapsed, (self._tokens, self._planned_tokens)),
        )
        reported.used += min(1.0, elapsed) * (used - reported.used)
        rate = None if bucket is None else bucket.rate
        reported.begin(now, self.pace.answers)
        shared.let, shared.let_tokens = 0, 0.0
        places = self.concurrency
        is_held_back = waits and places.in_flight < min(
            places.most, max(1.0, places.room) + places.stuck
        )
        requests, tokens = self._own_rates
        return Report(
            wants=INFINITE if is_held_back else wanted(reported.used, shared.others.count),
            accepted=self.pace.answers - reported.answers,
            in_flight=self.concurrency.in_flight,
            requests=min(requests, default=None),
            tokens=min(tokens, default=None),
            pace=SharedPace(rate, self.pace.measured),
            growth=rate / reported.rate if rate and reported.rate else 1.0,
            has_learnt=reported.reports_learnt,
            learnt=reported.learnt,
            wait=self.asked_to_wait,
        )

    def apply(self, share: Share, now: float) -> None:
        """Take over what other processes have reported."""
        shared, pace, reported = self.shared, self.pace, self._reported(now)
        if shared.others is _NOBODY:
            shared.others = _Others()
        others = shared.others
        is_new = now >= shared.ends
        others.update(share, now, is_new=is_new)
        shared.part, shared.ends = share.part, now + share.seconds
        if share.wait > self.asked_to_wait:
            self.outage.pause(now, share.wait)
            self.outage.asked_until = now + share.wait
        if share.pace.rate is not None and not pace.is_learnt:
            pace.is_learnt, pace.bucket = True, None
        bucket = pace.learnt
        is_own = reported.reports_learnt or reported.has_learnt
        if share.learnt != reported.learnt and not is_own:
            pace.measured = share.pace.measured
            pace.forget_window()
            pace.is_cut()
            self._last_cut = now
            if share.pace.rate is None:
                pace.give_up()
            else:
                self._begin_pace(share.pace.rate, now)
        elif bucket is not None and not reported.has_learnt and share.pace.rate:
            bucket.rate = share.pace.rate
            bucket.size = max(1.0, share.pace.rate)
            if now - pace.mark < STALE:
                pace.count_first(others.more)
        reported.not_before = reported.at + share.seconds / REFUSED_AGAIN
        pace.others_accepted(others.more)
        reported.confirm(share.learnt, None if pace.learnt is None else pace.learnt.rate)
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)
            if is_new and share.others:
                bucket.level = 0.0  # the others have used what it would have had

    def _reported(self, now: float) -> _Reported:
        reported = self.shared.reported
        if reported is None:
            reported = self.shared.reported = _Reported(now)
        return reported

    def give_back(self) -> None:
        """Let nothing through before it has heard of its share."""
        self._reported(time.monotonic())
        self.shared.ends = 0.0

    def keep_share(self) -> None:
        """Go on with the share as it is: there is nobody to tell it anything."""
        if not self.has_share:
            self.shared.part = 1.0
        self.shared.ends = INFINITE

    def stop_sharing(self) -> None:
        """Have all that the key allows, as one process alone."""
        self.shared.part, self.shared.ends, self.shared.others = 1.0, INFINITE, _NOBODY
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)

    @property
    def unreported(self) -> int:
        """Requests that were accepted since the last report."""
        reported = self.shared.reported
        return self.pace.answers - (0 if reported is None else reported.answers)

    @property
    def _buckets(self) -> list[TokenBucket]:
        buckets = (
            *(self._given, self.pace.bucket, self._planned),
            *(self._tokens, self._planned_tokens),
        )
        return [bucket for bucket in buckets if bucket is not None]
