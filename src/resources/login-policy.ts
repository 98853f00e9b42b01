import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { closed } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { LoginPolicy } from '../model/sign-in.ts'

const { twoFactorRequired } = LoginPolicy.properties
const DEFAULT = { twoFactorRequired: false }

export const loginPolicy = [
  endpoint({
    name: 'loginPolicy.get',
    method: 'GET',
    path: '/login/policy',
    effect: 'read',
    extension: true,
    summary: 'Read the login policy',
    message: 'Login policy',
    data: Type.Object({ twoFactorRequired }),
    handle: (ctx) => ({
      twoFactorRequired: (ctx.section('loginPolicies').settings(SHARED) ?? DEFAULT).twoFactorRequired,
    }),
  }),
  endpoint({
    name: 'loginPolicy.update',
    method: 'PUT',
    path: '/login/policy',
    effect: 'stage',
    extension: true,
    summary: 'Change the login policy',
    message: 'Login policy stored',
    body: closed({ twoFactorRequired }),
    handle: (ctx, { body }) => {
      ctx.section('loginPolicies').settings(SHARED)
      ctx.section('loginPolicies').put({ id: SHARED, ...body }, DEFAULT)
    },
  }),
]
