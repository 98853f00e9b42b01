import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { PAGE_DEFAULT } from '../api/lists.ts'
import { placeOfSession, SessionShown, TokenShown } from '../model/session.ts'

/** Accounts of all users, for administrators. */
export const accounts = [
  endpoint({
    name: 'sessions.list',
    method: 'GET',
    path: '/localUsers/sessions',
    effect: 'read',
    extension: true,
    summary: 'List the sessions of all users, oldest first',
    message: 'Sessions',
    data: Type.Array(SessionShown),
    list: { searched: ['name', 'address'], usual: PAGE_DEFAULT, key: placeOfSession },
    handle: (ctx) => [...ctx.accounts.sessions(ctx)],
  }),
  endpoint({
    name: 'sessions.end',
    method: 'DELETE',
    path: '/localUsers/sessions/{id}',
    effect: 'act',
    extension: true,
    summary: 'End any user’s session immediately',
    message: 'Session {id} ended',
    handle: (ctx, { params }) => ctx.accounts.endSession(params.id),
  }),
  endpoint({
    name: 'apiTokens.list',
    method: 'GET',
    path: '/localUsers/tokens',
    effect: 'read',
    extension: true,
    summary: 'List the API tokens of all users',
    message: 'API tokens',
    data: Type.Array(TokenShown),
    list: { searched: ['name', 'userName'], usual: PAGE_DEFAULT },
    handle: (ctx) => [...ctx.accounts.tokens()],
  }),
  endpoint({
    name: 'apiTokens.revoke',
    method: 'DELETE',
    path: '/localUsers/tokens/{id}',
    effect: 'act',
    extension: true,
    summary: 'Revoke any user’s API token immediately',
    message: 'API token {id} revoked',
    handle: (ctx, { params }) => ctx.accounts.revokeToken(params.id),
  }),
  endpoint({
    name: 'secondFactors.reset',
    method: 'DELETE',
    path: '/localUsers/users/{id}/2fa',
    effect: 'act',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Remove a lost second factor from a user immediately',
    message: 'Second factor of user {id} is off',
    handle: (ctx, { params }) => ctx.accounts.resetSecondFactor(ctx, params.id),
  }),
]
