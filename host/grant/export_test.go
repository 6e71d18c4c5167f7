package grant

// HTTPFunctions is for the tests, which run it in the real sandbox.
var HTTPFunctions = httpFunctions
