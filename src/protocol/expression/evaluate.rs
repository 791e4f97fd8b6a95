//! What an expression means: evaluation with absent fields as unknown.
//!
//! Operators and functions are the `cel` crate's. Some things are not, and the tree is rewritten once, after parsing,
//! so that they are calls of functions of our own (their names start with `@`, which no text can spell):
//!
//! - `&&`, `||`, `all`, `exists`, `has` (`@logic`): three-valued in both orders, and presence is false on an absent
//!   parent. The operands are kept aside and evaluated by the function, which therefore decides what is evaluated;
//! - arithmetic on doubles (`@finite`): a result that is not finite is an error;
//! - the range of a comprehension (`@items`): a map is walked in the order of its keys, not in that of a hash.
//!
//! Where the scope is told, a text literal that is compared with a time of it is spelled as that is (`times.rs`).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::functions::FunctionContext;
use cel::{Context, Env, ExecutionError, IdedExpr, Value};
use serde_json::Value as Json;

use super::json::{from_json, to_json, type_name};
use super::message::describe;
use super::parse::on_large_stack;
use super::rewrite::{FINITE, ITEMS, LOGIC, Names, Node, Rewriter};
use super::types::Scope;

/// The type of the crate's registry of functions, which it does not export.
type Function = Box<
    dyn for<'c, 'v> Fn(&mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError>
        + Send
        + Sync,
>;

/// The standard library is the same for all expressions and dear to build.
static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::default().with_optional_support(false).with_stdlib()));

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The expression has this value; `null` is a value.
    Known(Json),
    /// The value depends on a field that is absent.
    Unknown,
}

/// Says why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvaluationError {
    /// What failed: lower-case, without a full stop, the same text for the same expression and bindings.
    pub message: String,
}

impl EvaluationError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A tree that is ready to be evaluated.
pub(super) struct Evaluator {
    tree: IdedExpr,
    context: Context<'static, 'static>,
    names: Arc<Names>,
    is_deep: bool,
}

impl Evaluator {
    pub(super) fn new(mut tree: IdedExpr, scope: &Scope, is_deep: bool) -> Self {
        let mut rewriter = Rewriter::new(scope);
        rewriter.rewrite(&mut tree);
        let names = Arc::new(rewriter.names);
        let logic = Logic {
            nodes: rewriter.nodes,
            names: Arc::clone(&names),
        };
        Self {
            tree,
            context: context(logic),
            names,
            is_deep,
        }
    }

    /// Returns the names that are read.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn evaluate(
        &self,
        bindings: &serde_json::Map<String, Json>,
    ) -> Result<Answer, EvaluationError> {
        if !self.is_deep {
            return self.evaluate_here(bindings);
        }
        on_large_stack(|| self.evaluate_here(bindings))
            .unwrap_or_else(|| Err(EvaluationError::new("the expression cannot be evaluated")))
    }

    fn evaluate_here(
        &self,
        bindings: &serde_json::Map<String, Json>,
    ) -> Result<Answer, EvaluationError> {
        let resolver = Bindings {
            values: bindings,
            names: &self.names,
        };
        let mut scope = self.context.new_inner_scope();
        scope.set_variable_resolver(&resolver);
        match Value::resolve_val(&self.tree, &scope) {
            Ok(value) => to_json(value.as_ref()).map(Answer::Known),
            Err(error) if self.names.explain(&error) => Ok(Answer::Unknown),
            Err(error) => Err(EvaluationError::new(describe(&error))),
        }
    }
}

fn context(logic: Logic) -> Context<'static, 'static> {
    let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
    let functions: [(&str, Function); 3] = [
        (LOGIC, Box::new(move |call| logic.call(call))),
        (FINITE, Box::new(finite)),
        (ITEMS, Box::new(items)),
    ];
    for (name, function) in functions {
        // It fails for a name of the standard library only.
        let _ = context.add_function(name, function);
    }
    context
}

/// The operations set aside of one expression.
struct Logic {
    nodes: Vec<Node>,
    names: Arc<Names>,
}

/// What is known of a logical operation from the operands seen so far.
#[derive(Default)]
struct Undecided {
    unknown: Option<ExecutionError>,
    failed: Option<ExecutionError>,
}

impl Logic {
    fn call<'c, 'v>(
        &self,
        call: &mut FunctionContext<'c, 'v>,
    ) -> Result<CowVal<'c, 'v>, ExecutionError> {
        let index = call
            .args
            .first()
            .and_then(|index| index.downcast_ref::<CelInt>());
        let node = index
            .and_then(|index| usize::try_from(*index.inner()).ok())
            .and_then(|index| self.nodes.get(index))
            .ok_or_else(|| ExecutionError::undeclared_reference(LOGIC))?;
        self.decide(node, call.ptx)
            .map(|decided| CowVal::owned(CelBool::from(decided)))
    }

    fn decide(&self, node: &Node, context: &Context) -> Result<bool, ExecutionError> {
        match node {
            Node::Either {
                left,
                right,
                decides,
            } => {
                let mut undecided = Undecided::default();
                for operand in [left, right] {
                    if self.decided_by(operand, context, *decides, &mut undecided) {
                        return Ok(*decides);
                    }
                }
                undecided.settle(*decides)
            }
            Node::Fold {
                range,
                variable,
                predicate,
                decides,
            } => {
                let mut undecided = Undecided::default();
                let range = Value::resolve_val(range, context)?;
                let mut items = range
                    .as_iterable()
                    .ok_or_else(|| not_iterable(range.as_ref()))?
                    .iter();
                let mut scope = context.new_inner_scope();
                while let Some(item) = items.next() {
                    scope.add_variable_as_val(variable, item.clone_as_boxed());
                    if self.decided_by(predicate, &scope, *decides, &mut undecided) {
                        return Ok(*decides);
                    }
                }
                undecided.settle(*decides)
            }
            Node::Has(asked) => match Value::resolve_val(asked, context) {
                Ok(_) => Ok(true),
                Err(error) if self.names.explain(&error) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }

    /// Whether `operand` alone decides; else what it is goes into `undecided`.
    fn decided_by(
        &self,
        operand: &IdedExpr,
        context: &Context,
        decides: bool,
        undecided: &mut Undecided,
    ) -> bool {
        let value = Value::resolve_val(operand, context).and_then(|value| {
            let truth = value.downcast_ref::<CelBool>().map(|truth| *truth.inner());
            truth.ok_or_else(|| ExecutionError::UnexpectedType {
                got: type_name(value.as_ref()).to_owned(),
                want: "bool".to_owned(),
            })
        });
        match value {
            Ok(truth) => return truth == decides,
            Err(error) if self.names.explain(&error) => undecided.unknown.get_or_insert(error),
            Err(error) => undecided.failed.get_or_insert(error),
        };
        false
    }
}

impl Undecided {
    /// The value when no operand decided: unknown before failure, as in the reference implementation of the language,
    /// so that the order of the operands does not matter.
    fn settle(self, decides: bool) -> Result<bool, ExecutionError> {
        self.unknown.or(self.failed).map_or(Ok(!decides), Err)
    }
}

fn not_iterable(value: &dyn Val) -> ExecutionError {
    ExecutionError::UnexpectedType {
        got: type_name(value).to_owned(),
        want: "list".to_owned(),
    }
}

fn only_argument<'c, 'v>(
    call: &mut FunctionContext<'c, 'v>,
) -> Result<CowVal<'c, 'v>, ExecutionError> {
    call.args
        .pop()
        .ok_or_else(ExecutionError::missing_argument_or_target)
}

fn finite<'c, 'v>(call: &mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> {
    let value = only_argument(call)?;
    match value.downcast_ref::<CelDouble>() {
        Some(double) if !double.inner().is_finite() => {
            Err(ExecutionError::InternalError(NOT_FINITE.to_owned()))
        }
        _ => Ok(value),
    }
}

pub(super) const NOT_FINITE: &str = "a number is not finite";

fn items<'c, 'v>(call: &mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> {
    let value = only_argument(call)?;
    let Some(map) = value.downcast_ref::<CelMap>() else {
        return Ok(value);
    };
    let keys: BTreeSet<&CelMapKey<'v>> = map.inner().keys().collect();
    let keys: Vec<Box<dyn Val + 'v>> = keys
        .into_iter()
        .map(|key| key.inner().clone_as_boxed())
        .collect();
    Ok(CowVal::owned(CelList::from(keys)))
}

/// Answers the crate's look-ups from JSON, copying only what is read.
///
/// The crate asks for the longest dotted name first, then for ever shorter ones.
struct Bindings<'b> {
    values: &'b serde_json::Map<String, Json>,
    names: &'b Names,
}

impl VariableResolver for Bindings<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        let mut segments = name.split('.');
        let mut value = self.values.get(segments.next()?)?;
        for segment in segments {
            value = value.as_object()?.get(segment)?;
        }
        // A shorter name that is not read itself is asked for only because the next field is absent (or is not a
        // field of an object): an empty object says the same as a copy of everything under it.
        if value.is_object() && !self.names.dotted.contains(name) {
            return Some(CowVal::owned(CelMap::from(HashMap::new())));
        }
        Some(CowVal::Owned(from_json(value)))
    }
}
