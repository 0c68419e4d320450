// A real OpenID provider (npm's oidc-provider) on loopback, with people whose claims are given (of the ID token under
// id_token, the rest as user info, which is of user_info_of where that is given): node provider.mjs PORT CLIENT_JSON PEOPLE_JSON FEATURES_JSON
import { Provider } from "oidc-provider";

const port = process.argv[2];
const [client, people, features] = process.argv.slice(3).map((text) => JSON.parse(text));
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client],
  pkce: { required: () => true },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: true }, ...features },
  findAccount: (_context, id) => ({ accountId: id, claims: (use) => ({ sub: id, ...(use === "id_token" ? people[id].id_token : people[id]) }) }),
});
provider.use(async (context, next) => {
  await next();
  const of = context.path === "/me" && people[context.body.sub]?.user_info_of;
  if (of) context.body = { ...context.body, sub: of };
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
