use proptest::prelude::*;

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn policy(share: f64, window: Duration) -> SharePolicy {
    SharePolicy { share, window }
}

#[test]
fn a_tenant_is_held_back_once_it_owes_too_much_and_goes_on_when_half_is_paid() {
    let mut shares = Shares::new(policy(0.5, ms(10_000)));
    assert_eq!(shares.patience(&"a", ms(0)), Some(ms(10_000)));
    shares.took(&"a", ms(5_000), ms(5_000));
    assert!(!shares.holds(&"a", ms(5_000)), "as much as it may owe");
    shares.took(&"a", ms(5_200), ms(200));
    assert!(shares.holds(&"a", ms(5_200)), "5,100 ms");
    assert!(!shares.holds(&"b", ms(5_200)), "it alone");
    assert!(shares.holds(&"a", ms(10_300)), "2,550 ms");
    assert!(!shares.holds(&"a", ms(10_400)));
    assert_eq!(shares.patience(&"a", ms(10_400)), Some(ms(5_000)));
    // A record that is longer than the window is paid for in full.
    shares.took(&"a", ms(100_000), ms(27_000));
    assert!(shares.holds(&"a", ms(140_000)));
    assert!(!shares.holds(&"a", ms(149_000)));
}

#[test]
fn who_may_have_it_all_is_never_held_back_and_quick_records_do_not_count() {
    let all = policy(1.0, ms(1_000));
    let mut shares = Shares::new(all);
    for n in 1..100 {
        shares.took(&"a", ms(n * 900), ms(900));
        assert!(!shares.holds(&"a", ms(n * 900)));
    }
    assert_eq!(shares.patience(&"a", ms(1)), None);
    assert!(all.counts(ms(5)) && !all.counts(ms(4)));
}

proptest! {
    /// A tenant that runs whenever it is not held back: in every stretch of time its records take no more than its share
    /// of it, of one window, and one record.
    #[test]
    fn no_stretch_of_time_holds_more_than_the_bound(
        share in 0.05f64..1.0, window in 10u64..20_000,
        records in prop::collection::vec((1u64..30_000, 0u64..3_000), 1..60),
    ) {
        let mut shares = Shares::new(policy(share, ms(window)));
        let (mut now, mut runs) = (Duration::ZERO, Vec::new());
        let mut longest = Duration::ZERO;
        for (took, pause) in records {
            now += ms(pause);
            if shares.holds(&0, now) {
                continue;
            }
            let took = ms(took);
            longest = longest.max(took);
            now += took;
            shares.took(&0, now, took);
            runs.push((now - took, now));
        }
        for (i, (from, _)) in runs.iter().enumerate() {
            let mut sum = Duration::ZERO;
            for (start, end) in &runs[i..] {
                sum += *end - *start;
                let bound = (*end - *from).mul_f64(share) + ms(window).mul_f64(share) + longest;
                prop_assert!(sum <= bound + ms(1), "{sum:?} in {:?}, bound {bound:?}", *end - *from);
            }
        }
    }

    /// It goes on again, however much it has taken, and nothing is remembered of who owes nothing.
    #[test]
    fn everything_is_paid_off_in_time(share in 0.05f64..1.0, took in 1u64..1_000_000) {
        let mut shares = Shares::new(policy(share, ms(1_000)));
        shares.took(&0, ms(took), ms(took));
        let paid = ms(took) + ms(took).div_f64(share) + ms(1);
        prop_assert!(!shares.holds(&0, paid));
        shares.took(&1, paid, ms(1));
        prop_assert_eq!(shares.accounts.len(), 1);
    }

    /// Those that are charged one after the other are few at a time: who takes little has soon paid.
    #[test]
    fn few_are_known_at_a_time(share in 0.1f64..1.0, took in 5u64..100) {
        let mut shares = Shares::new(policy(share, ms(1_000)));
        for n in 1..500u64 {
            shares.took(&n, ms(n * took), ms(took));
            let most = 1.0 / share + 2.0;
            prop_assert!((0..).take(shares.accounts.len()).all(|n| f64::from(n) < most));
        }
    }
}
