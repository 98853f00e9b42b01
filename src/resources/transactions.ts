import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { Moment, newIdOf } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

const Transaction = Type.Object({
  id: newIdOf('Id, for the header X-Transaction-Id of requests in the transaction.'),
  owner: text('E-mail of the user who opened the transaction; nobody else can use or commit it.'),
  openedAt: Moment('Time of opening, ISO 8601.'),
  expiresAt: Moment('When the transaction is rolled back if it is not used, ISO 8601: 15 minutes after its last use.'),
  nodeId: text('Node that opened the transaction and holds its edits; other nodes forward its requests.'),
  count: Type.Optional(
    Type.Integer({
      description:
        'Number of records edited in the transaction; absent if its node is unreachable: the transaction then ends by itself.',
    }),
  ),
})

export const transactions = [
  endpoint({
    name: 'transactions.list',
    method: 'GET',
    path: '/transactions',
    effect: 'read',
    extension: true,
    transactionIn: 'path',
    summary: 'Read the open transaction, if there is one; a cluster has one for all its nodes',
    message: 'Transactions',
    data: Type.Array(Transaction),
    handle: (ctx) => [...ctx.transactions.list()],
  }),
  endpoint({
    name: 'transactions.begin',
    method: 'POST',
    path: '/transactions',
    effect: 'act',
    extension: true,
    status: 201,
    refuses: ['TRANSACTION_OPEN'],
    summary: 'Open a transaction: edits made with its id are invisible to others until they are committed',
    message: 'Transaction opened',
    data: Transaction,
    handle: (ctx) => ctx.transactions.begin(ctx.actor),
  }),
  endpoint({
    name: 'transactions.commit',
    method: 'PUT',
    path: '/transactions/{id}/commit',
    effect: 'act',
    extension: true,
    transactionIn: 'path',
    refuses: ['NAME_NOT_UNIQUE', 'ID_NOT_UNIQUE', 'IN_USE', 'REVISION_MISMATCH', 'NOT_SUPPORTED', 'APPLY_IN_PROGRESS'],
    summary: 'Make the edits of a transaction pending changes, all or none',
    message: 'Transaction {id} committed; its edits are pending',
    data: NoData,
    handle: async (ctx, { params }) => {
      await ctx.transactions.commit(params.id, ctx)
      return []
    },
  }),
  endpoint({
    name: 'transactions.rollback',
    method: 'PUT',
    path: '/transactions/{id}/rollback',
    effect: 'act',
    extension: true,
    transactionIn: 'path',
    refuses: ['APPLY_IN_PROGRESS'],
    summary:
      'Discard the edits of a transaction; for somebody else’s transaction the caller needs the rights for all its edits',
    message: 'Transaction {id} rolled back',
    data: NoData,
    handle: async (ctx, { params }) => {
      await ctx.transactions.rollback(params.id, ctx)
      return []
    },
  }),
]
