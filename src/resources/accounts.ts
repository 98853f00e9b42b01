import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { PageBeside, answerPage, PageQuery } from '../api/pages.ts'
import { closed } from '../model/fields.ts'
import { SessionShown, TokenShown } from '../model/session.ts'

/** Everybody's, for who looks after them. */
export const accounts = [
  endpoint({
    name: 'sessions.list',
    method: 'GET',
    path: '/localUsers/sessions',
    effect: 'read',
    extension: true,
    summary: 'List the sessions of everybody, oldest first',
    message: 'Sessions',
    query: closed(PageQuery),
    data: Type.Array(SessionShown),
    beside: PageBeside,
    handle: (ctx, { query }) => answerPage(ctx.accounts.sessions(ctx, query)),
  }),
  endpoint({
    name: 'sessions.end',
    method: 'DELETE',
    path: '/localUsers/sessions/{id}',
    effect: 'act',
    extension: true,
    summary: 'End a session of anybody, at once',
    message: 'Session {id} ended',
    handle: (ctx, { params }) => ctx.accounts.endSession(params.id),
  }),
  endpoint({
    name: 'apiTokens.list',
    method: 'GET',
    path: '/localUsers/tokens',
    effect: 'read',
    extension: true,
    summary: 'List the API tokens of everybody',
    message: 'API tokens',
    query: closed(PageQuery),
    data: Type.Array(TokenShown),
    beside: PageBeside,
    handle: (ctx, { query }) => answerPage(ctx.accounts.tokens(query)),
  }),
  endpoint({
    name: 'apiTokens.revoke',
    method: 'DELETE',
    path: '/localUsers/tokens/{id}',
    effect: 'act',
    extension: true,
    summary: 'Revoke an API token of anybody, at once',
    message: 'API token {id} revoked',
    handle: (ctx, { params }) => ctx.accounts.revokeToken(params.id),
  }),
  endpoint({
    name: 'secondFactors.reset',
    method: 'DELETE',
    path: '/localUsers/users/{id}/2fa',
    effect: 'act',
    extension: true,
    summary: 'Take the second factor off a user who has lost it, at once',
    message: 'Second factor of user {id} is off',
    handle: (ctx, { params }) => ctx.accounts.resetSecondFactor(ctx, params.id),
  }),
]
