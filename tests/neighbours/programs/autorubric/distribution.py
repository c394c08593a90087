from autorubric import *
from autorubric.metrics import score_distribution, systematic_bias

a = [0.1, 0.5, 0.9, 0.4, 0.8, 0.3]
b = [0.2, 0.5, 0.7, 0.4, 0.3, 0.6]
f = lambda x: None if x is None else round(x, 6)
e = earth_movers_distance(a, b)
print(f(e.emd), f(e.mean_diff), f(e.std_diff), e.bias_direction, e.interpretation)
k = ks_test(a, b)
print(f(k.statistic), f(k.p_value), k.is_significant)
d = score_distribution(a)
print(
    d.n,
    f(d.mean),
    f(d.std),
    f(d.median),
    f(d.q25),
    f(d.q75),
    f(d.iqr),
    f(d.skewness),
    f(d.kurtosis),
    d.min,
    d.max,
)
s = systematic_bias(a, b)
print(f(s.mean_bias), f(s.std_bias), f(s.p_value), s.direction, f(s.effect_size))
print(f(wasserstein_distance(a, b)))
M, U, C = CriterionVerdict.MET, CriterionVerdict.UNMET, CriterionVerdict.CANNOT_ASSESS
print(
    verdict_to_binary([M, U, C]),
    verdict_to_string([M, U]),
    filter_cannot_assess([M, U, C, M], [M, C, U, U]),
)
for n in ([], [0.4], [0.5, 0.5]):
    d = score_distribution(n)
    print(d.n, d.mean, d.std, d.median, d.iqr, d.min, d.max)
e = earth_movers_distance([], [])
print(e.emd, e.interpretation, e.bias_direction, systematic_bias([], []).mean_bias)
try:
    print("taken", systematic_bias([0.1, 0.2], [0.1]))
except ValueError:
    print("not paired")
