import type { TransactionsActor } from '../context/staging.ts'
import type { Clock } from '../base/clock.ts'
import { type Editing, originOf } from './editing.ts'
import type { Transactions } from './transactions.ts'

interface Parts {
  readonly transactions: Transactions
  readonly editing: Editing
  readonly clock: Clock
}

/** Returns the operations on transactions that the API offers. */
export function createTransacting({ transactions, editing, clock }: Parts): TransactionsActor {
  return {
    list: () => transactions.list(),
    refuseOpen: () => transactions.refuseOpen(),
    begin: (owner) => transactions.begin(owner),
    commit(id, asking) {
      const { actor } = asking
      const origin = originOf(actor.email, 'transactions.commit', clock)
      const join = () => transactions.join(id, actor)
      return editing.commit(
        origin,
        (endpoint, touched) => asking.may(endpoint, touched),
        join,
        () => transactions.forget(id),
      )
    },
    // Waits for edits and commits under way: none of them may bring back what was rolled back.
    rollback: (id, asking) =>
      editing.between(() => {
        transactions.refuseForeign(id, asking.actor, (endpoint, touched) => asking.may(endpoint, touched))
        return { result: undefined, afterwards: () => transactions.end(id) }
      }),
  }
}
