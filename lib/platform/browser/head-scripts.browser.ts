export const THEME_KEY = "parkade.theme";

/**
 * Runs in <head> before the first paint, so that no page flashes in the other theme. Without a stored theme the
 * attribute is absent and the system decides.
 */
export const THEME_SCRIPT = `try{var t=localStorage.getItem(${JSON.stringify(THEME_KEY)});if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}`;

/**
 * Runs in <head> before any other script. The Content-Security-Policy demands Trusted Types: the browser asks this policy for
 * each text that would become a script. Files of the build pass, by their address; every other text is refused. The loader of
 * Turbopack sets addresses as plain texts and has no policy of its own.
 */
export const TRUSTED_SCRIPTS = `if(self.trustedTypes&&!trustedTypes.defaultPolicy)trustedTypes.createPolicy("default",{createScriptURL:function(u){var a=new URL(u,location.href);return a.origin===location.origin&&a.pathname.indexOf("/_next/static/")===0?u:null}});`;
